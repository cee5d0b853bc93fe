// The backends. Each is defined by its folder; CUDA's only in a build that has it (config::cuda).
#pragma once
#include "tutti/core/backend.h"

namespace tutti {

extern const Backend cpu_backend;
extern const Backend cuda_backend;

}  // namespace tutti
