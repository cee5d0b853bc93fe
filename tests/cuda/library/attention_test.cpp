// Attention on devices that have less shared memory than a data centre's.
#include "emulator.h"
#include "support/catch.h"
#include "tutti/tutti.h"

using namespace tutti;

namespace {

const Device gpu = Device::cuda();

/// Numbers of the result and of the gradients of q, k and v, with so many KB of shared memory for a block.
std::vector<std::vector<double>> run(DType dtype, int64_t width, size_t kilobytes) {
  const size_t before = std::exchange(emulator::config().shared, kilobytes << 10);
  manual_seed(5);
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i) x.push_back(randn({1, 2, 37, width}, {.dtype = dtype, .device = gpu}).requires_grad_());
  const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true});
  sum(mul(y, y)).backward();
  std::vector<std::vector<double>> all{y.to_vector<double>()};
  for (const Tensor& t : x) all.push_back(t.grad().to_vector<double>());
  emulator::config().shared = before;
  return all;
}

}  // namespace

TEST_CASE("cuda attention: where tiles for tensor cores are larger than shared memory, multiply-adds take over") {
  set_allow_tf32(true);
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::float32})
    for (const int64_t width : {64, 128, 256}) {
      INFO(name_of(dtype) << " width " << width);
      const auto large = run(dtype, width, 227), small = run(dtype, width, 99);
      const bool fits = width == 64 || (width == 128 && dtype != DType::float32);
      CHECK((small == large) == fits);
      const double tolerance = dtype == DType::bfloat16 ? 4e-2 : 8e-3;
      for (size_t i = 0; i < large.size(); ++i) {
        double most = 0, apart = 0;
        for (size_t k = 0; k < large[i].size(); ++k) {
          most = std::max(most, std::abs(large[i][k]));
          apart = std::max(apart, std::abs(large[i][k] - small[i][k]));
        }
        CHECK(apart <= tolerance * most);
      }
    }
  set_allow_tf32(false);
  CHECK(emulator::report().empty());
}
