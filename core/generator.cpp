#include "tutti/core/generator.h"

namespace tutti {

void Generator::manual_seed(uint64_t seed) {
  seed_ = seed;
  stream_ = 0;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace tutti
