// For backends/cuda only: the devices of this machine, and which of them a thread launches on.
#pragma once

namespace tutti::cuda {

int count();             ///< 0 without a driver
void select(int index);  ///< for this thread, from now on
/// The device's work goes to this stream from now on, after what was launched before; null: the library's own. Gives
/// the one before.
void* use_stream(int index, void* stream);

/// What select() had chosen, again at the end.
class Selected {
 public:
  explicit Selected(int index);
  ~Selected();
  Selected(const Selected&) = delete;
  Selected& operator=(const Selected&) = delete;

 private:
  int before_;
};

}  // namespace tutti::cuda
