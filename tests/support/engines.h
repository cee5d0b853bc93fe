// The engines of parallel_for that this build has.
#pragma once
#include <vector>

#include "support/catch.h"
#include "tutti/core/error.h"
#include "tutti/core/parallel.h"

/// body() under each engine; the one that was set is restored. What the build lacks is reported as skipped.
template <class Body>
void for_each_engine(const Body& body) {
  const tutti::ParallelEngine before = tutti::parallel_engine();
  for (auto engine : {tutti::ParallelEngine::pool, tutti::ParallelEngine::openmp}) {
    try {
      tutti::set_parallel_engine(engine);
    } catch (const tutti::ValueError& e) {
      WARN("skipped: " << e.what());
      continue;
    }
    INFO("engine " << (engine == tutti::ParallelEngine::pool ? "pool" : "openmp"));
    body();
  }
  tutti::set_parallel_engine(before);
}
