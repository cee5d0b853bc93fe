#include "tutti/core/scratch.h"

#include "tutti/core/storage.h"

namespace tutti {

Scratch::Scratch(size_t bytes) : data_(memory::take(cpu, bytes, capacity_)) {}
Scratch::~Scratch() { memory::give(cpu, data_, capacity_); }

}  // namespace tutti
