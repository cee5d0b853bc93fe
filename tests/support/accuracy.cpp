#include "support/accuracy.h"

#include <bit>
#include <cmath>
#include <limits>

#include "support/catch.h"

using namespace tutti;

namespace tutti_test {
namespace {

template <class T>
std::vector<T> sweep(double low, double high) {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> list{0,
                      T(-0.0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::denorm_min(),
                      Limits::min(),
                      Limits::max(),
                      Limits::lowest(),
                      1,
                      -1};
  constexpr Bits step = sizeof(T) == 4 ? Bits(104729) : Bits(0x9E3779B97F4A7C15u >> 15);  // about 40000 bit patterns
  Bits bits = 0;
  for (int i = 0; i < 41000; ++i, bits += sizeof(T) == 4 ? step : step * 937) list.push_back(std::bit_cast<T>(bits));
  for (int i = -10000; i <= 10000; ++i) list.push_back(static_cast<T>(i * 1.1e-2));
  for (int i = -10000; i <= 10000; ++i) list.push_back(static_cast<T>(i * 7.3e-4));
  std::erase_if(list, [=](T v) { return v < low || v > high; });
  return list;
}

/// |got - want| in units in the last place of want.
template <class T>
double distance(T got, long double want) {
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : Limits::infinity();
  if (std::isinf(rounded)) return got == rounded ? 0 : Limits::infinity();
  if (!std::isfinite(got)) return Limits::infinity();
  const T size = std::abs(rounded);
  const T unit = size < Limits::min() ? Limits::denorm_min() : std::nextafter(size, Limits::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

template <class T>
void check(const std::string& name, Tensor (*op)(const Tensor&), long double (*exact)(long double), double ulps,
           double low, double high) {
  const std::vector<T> x = sweep<T>(low, high);
  const std::vector<T> y = op(Tensor::from(x, {static_cast<int64_t>(x.size())})).template to_vector<T>();
  size_t worst = 0;
  double error = -1;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double e = distance(y[i], exact(x[i])); e > error) {
      error = e;
      worst = i;
    }
  INFO(name << (sizeof(T) == 4 ? " float32" : " float64") << " at " << x[worst] << ": got " << y[worst] << ", want "
            << static_cast<double>(exact(x[worst])));
  CHECK(error <= ulps);
}

}  // namespace

void check_ulps(const std::string& name, Tensor (*op)(const Tensor&), long double (*exact)(long double), double ulps,
                double low, double high) {
  check<float>(name, op, exact, ulps, low, high);
  check<double>(name, op, exact, ulps, low, high);
}

}  // namespace tutti_test
