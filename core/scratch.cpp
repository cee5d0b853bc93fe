#include "tutti/core/scratch.h"

#include "tutti/core/detail/allocator.h"

namespace tutti {

Scratch::Scratch(size_t bytes, Device device)
    : block_(memory::take(device, bytes)), data_(block_ ? block_->data : nullptr) {}
Scratch::~Scratch() { memory::give(block_); }

}  // namespace tutti
