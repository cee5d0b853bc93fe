// For backends/cuda only: the devices of this machine, and which of them a thread launches on.
#pragma once

namespace tutti::cuda {

int count();             ///< 0 without a driver
void select(int index);  ///< for this thread, from now on

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
