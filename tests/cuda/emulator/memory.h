// Inside the emulator: device memory. Each device has an arena of addresses; host code may not touch it, nor may
// kernels of another device; every block has bounds, and is filled with NaN when it begins and when it ends.
#pragma once
#include <cstddef>

namespace emulator {

struct Block {
  char* begin;
  size_t bytes;
  int device;
};

/// Uninitialised memory whose address is a multiple of 256 and of no more. Null: the device has no more.
void* take_address(int device, size_t bytes);
void begin_life(void* p);  ///< from now on it may be touched
void end_life(void* p);    ///< and from now on no longer
/// The address may be handed out again, though not soon. False: it was not taken.
bool give_address(void* p);
bool is_taken(const void* p);

// Parts of a divided segment, for emulator.h's part().
void begin_part(void* p, size_t bytes);
void end_part(void* p);

/// The live block around the address; begin is null if there is none.
Block block_at(const void* p);
/// Whether the address is some device's, live or not; which.
int device_of(const void* p);  ///< -1: none's
size_t bytes_free(int device);

/// Notes a fault and returns false unless all of it is inside one live block.
bool inside_block(const char* what, const void* p, size_t bytes);

/// While one lives, this device's memory (or every device's) may be touched.
class Open {
 public:
  explicit Open(int device);
  ~Open();
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  int device_;
};
inline constexpr int every_device = -1;

/// While one lives (and the lock is held), memory stays open between one Open and the next of the same device: opening
/// and closing costs more than a small kernel.
class Linger {
 public:
  Linger();
  ~Linger();
  Linger(const Linger&) = delete;
  Linger& operator=(const Linger&) = delete;
};
void close_to_host();  ///< for host code that runs meanwhile

// signals.cpp
/// Called before each launch and whenever memory is closed to the host: for this host thread, and before any other
/// handler.
void catch_wild_accesses();
/// Lets the access that has failed go on. False if the address is no device's.
bool let_through(void* address);

}  // namespace emulator
