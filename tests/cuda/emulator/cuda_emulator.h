// What a .cu file includes when the C++ compiler takes it: CUDA's device functions, one fiber per thread. The types and
// the runtime's signatures are the toolkit's own headers.
#pragma once
#include "async_copy.h"
#include "atomics.h"
#include "builtins.h"
#include "device_math.h"
#include "launch.h"
#include "ptx.h"
#include "warp.h"
#include "wmma.h"
