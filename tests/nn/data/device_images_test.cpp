// Image transforms on a device: the CPU's numbers, bit for bit.
#include "tutti/nn/data/detail/device_images.h"

#include <cmath>

#include "support/devices.h"
#include "support/on_cpu.h"
#include "support/op_test.h"
#include "tutti/nn/data/random_affine.h"
#include "tutti/nn/data/transforms.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/shape.h"

using namespace tutti;
using namespace tutti_test;

TEST_CASE("devices: image transforms give the CPU's bits") {
  const Device other = other_device();
  if (other == cpu) return;
  const OnCpu made_here;
  const auto same = [&](const char* name, const data::Transform& f, const Tensor& x) {
    INFO(name << " of " << tutti::name_of(x.dtype()) << " " << to_string(x.shape()));
    for (uint64_t stream = 0; stream < 3; ++stream) {
      const Tensor want = f(x, {5, stream}), got = f(to(x, other), {5, stream});
      CHECK(got.device() == other);
      check_identical(to(got, cpu), want);
    }
  };
  const std::vector<DType> all{DType::float32, DType::float64, DType::float16, DType::bfloat16,
                               DType::int64,   DType::int32,   DType::uint8,   DType::boolean};
  for (const Dims& shape : {Dims{7, 5, 6}, Dims{4, 3, 6, 5}, Dims{3, 1, 1}, Dims{0, 4, 4}, Dims{2, 0, 3}})
    for (const DType dtype : all) {
      const Tensor x = to(random_tensor(shape, DType::float64, 3, -3, 3), dtype);
      same("shift", data::random_shift(2, 1), x);
      same("shift out of sight", data::random_shift(1000), x);
      same("flip", data::random_flip(), x);
      same("a view's flip", data::random_flip(), transpose(x, -1, -2));
      if (!is_floating(dtype)) continue;
      same("affine", data::random_affine({.degrees = 30, .scale = 0.3, .shear = 20, .translate = 2, .fill = 0.5}), x);
      same("far away", data::random_affine({.shear = 89, .translate = 9e8}), x);
      same("nothing", data::random_affine({}), x);
    }
  const Tensor infinite = Tensor::from({INFINITY, 1, 2, 3}, {1, 2, 2});
  same("what weighs nothing", data::random_affine({}), infinite);
}
