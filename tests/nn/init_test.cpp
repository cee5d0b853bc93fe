// Initialisation: ranges are kept in every dtype.
#include "tutti/nn/init.h"

#include <algorithm>
#include <cmath>

#include "support/devices.h"
#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/create.h"

using namespace tutti;
using namespace tutti_test;

namespace {
const DType floats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};
}

TEST_CASE("uniform_ stays below high and not below low, whatever it is rounded to") {
  const std::pair<double, double> ranges[] = {{1, 2},       {0, 1},     {-1, 0},   {0.1, 0.3},
                                              {-0.3, -0.1}, {100, 101}, {-1e-6, 0}};
  for (const DType t : floats)
    for (const auto& [low, high] : ranges) {
      INFO(name_of(t) << " [" << low << ", " << high << ")");
      const Tensor x = zeros({sized(200000, 20000)}, {.dtype = t});
      Generator g(3);
      nn::init::uniform_(x, low, high, g);
      const auto v = x.to_vector<double>();
      CHECK(*std::min_element(v.begin(), v.end()) >= low);
      CHECK(*std::max_element(v.begin(), v.end()) < high);
    }
}

TEST_CASE("uniform_: where a dtype has no number in the range, the nearest, and a range that is too wide is an error") {
  const Tensor x = zeros({4}, {.dtype = DType::bfloat16});
  nn::init::uniform_(x, 3, 3);
  CHECK(x.to_vector<double>() == std::vector<double>(4, 3));
  nn::init::uniform_(x, 1.001, 1.002);
  CHECK(x.to_vector<double>() == std::vector<double>(4, 1));
  CHECK_THROWS_WITH(nn::init::uniform_(x, -3e38, 3e38),
                    "uniform_: the range from -3e+38 to 3e+38 is too wide for bfloat16");
  CHECK_THROWS_WITH(nn::init::uniform_(zeros({4}, {.dtype = DType::float16}), -1e5, 1e5),
                    "uniform_: the range from -1e+05 to 1e+05 is too wide for float16");
}

TEST_CASE("trunc_normal_ stays within two deviations in every dtype") {
  for (const DType t : floats) {
    INFO(name_of(t));
    const Tensor x = zeros({100000}, {.dtype = t});
    Generator g(4);
    nn::init::trunc_normal_(x, 0.1, 0.3, g);
    const auto v = x.to_vector<double>();
    CHECK(*std::min_element(v.begin(), v.end()) >= 0.1 - 2 * 0.3);
    CHECK(*std::max_element(v.begin(), v.end()) <= 0.1 + 2 * 0.3);
  }
}
