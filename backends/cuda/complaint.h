// A kernel cannot throw. One that meets a bad index notes it on the device (complain.h), and the host throws at the
// next wait; or at once, if cuda_check_at_once (core/cuda_check.h).
#pragma once
#include <cstdint>

namespace tutti::cuda {

/// What a device remembers of the first kernel that complained: its bad value with the lowest position. All zero: none
/// did.
struct Complaint {
  unsigned long long check;  // Check::number; whoever finds 0 here takes it, later kernels leave it alone
  unsigned long long op, what, limit;
  // The value's bits in three parts (24, 24, 16), each below the complement of its position (40 bits): the largest is
  // that of the lowest position, in all three.
  unsigned long long parts[3];
};

/// For one launch, given to the kernel by value.
struct Check {
  Complaint* complaint;
  unsigned long long number;
  const char *op, *what;  // never freed
  int64_t limit;
};

/// To be called before the launch, and after it. `what` must be a literal.
Check begin_check(const char* op, const char* what, int64_t limit);
void end_check();

// For graphs (capture.h), whose replays check too: what must be done before one is recorded, and after each replay.
void prepare_checks();
void end_replay();

/// Whether there has been a check since the last call: then *complaint is on its way and the stream must be waited for.
bool fetch_complaint(Complaint* complaint);
/// IndexError if there is one, with the text that the CPU has; the device's is forgotten.
void throw_complaint(const Complaint& complaint);

}  // namespace tutti::cuda
