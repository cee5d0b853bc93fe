// Numbers beside tensors: the same value in every function that takes one, and none changes without a word.
#include "tutti/core/number.h"

#include <cmath>
#include <functional>

#include "support/op_test.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/compare.h"
#include "tutti/ops/copy.h"
#include "tutti/ops/create.h"
#include "tutti/ops/join.h"
#include "tutti/ops/unary.h"

using namespace tutti;
using namespace tutti_test;

namespace {

constexpr int64_t odd = (int64_t{1} << 53) + 1;  // between two doubles

/// Every function that takes a number, giving a tensor that holds it.
struct Taker {
  const char* name;
  std::function<Tensor(Number, DType)> run;
};
const Taker takers[] = {
    {"full", [](Number n, DType t) { return full({1}, n, {.dtype = t}); }},
    {"full_like", [](Number n, DType t) { return full_like(zeros({1}, {.dtype = t}), n); }},
    {"fill_",
     [](Number n, DType t) {
       const Tensor x = zeros({1}, {.dtype = t});
       fill_(x, n);
       return x;
     }},
    {"arange",
     [](Number n, DType t) {
       return arange(n, n.is_integer() ? Number(n.whole() + 1) : Number(n.real() + 1), 4096, {.dtype = t});
     }},
    {"pad", [](Number n, DType t) { return pad(zeros({0}, {.dtype = t}), {1}, {0}, n); }},
    {"masked_fill",
     [](Number n, DType t) { return masked_fill(zeros({1}, {.dtype = t}), ones({1}, {.dtype = DType::boolean}), n); }},
    {"clamp", [](Number n, DType t) { return clamp(zeros({1}, {.dtype = t}), n, n); }},
    {"add", [](Number n, DType t) { return add(zeros({1}, {.dtype = t}), n); }},
    {"mul", [](Number n, DType t) { return mul(ones({1}, {.dtype = t}), n); }},
};

}  // namespace

static_assert(!std::is_convertible_v<const char*, Number> && !std::is_convertible_v<Tensor*, Number>);

TEST_CASE("Number: enumerators, characters and booleans are the numbers that they stand for") {
  enum { classes = 10 };
  CHECK(Number(classes).whole() == 10);
  CHECK(full({1}, classes).item() == 10);
  CHECK(full({1}, 'a').item() == 97);
  CHECK(full({1}, true).item() == 1);
  CHECK_FALSE(Number(UINT64_MAX).is_integer());
  CHECK(Number(UINT64_MAX).real() == 0x1p64);
}

TEST_CASE("numbers: an integer beyond 2^53 arrives whole everywhere") {
  for_each_isa([](const char* isa) {
    for (const Taker& taker : takers) {
      INFO(isa << " " << taker.name);
      for (const int64_t n : {odd, -odd})
        CHECK(taker.run(n, DType::int64).to_vector<int64_t>() == std::vector<int64_t>{n});
    }
    const Tensor x = Tensor::from(std::vector<int64_t>{odd - 1, odd, odd + 1}, {3});
    CHECK(eq(x, odd).to_vector<double>() == std::vector<double>{0, 1, 0});
    CHECK(ge(x, odd).to_vector<double>() == std::vector<double>{0, 1, 1});
    CHECK(sub(x, odd).to_vector<double>() == std::vector<double>{-1, 0, 1});
    CHECK(full({1}, INT64_MAX, {.dtype = DType::int64}).to_vector<int64_t>()[0] == INT64_MAX);
  });
}

TEST_CASE("numbers: what an integer dtype does not have is an error everywhere") {
  for (const Taker& taker : takers) {
    const std::string name = taker.name;
    INFO(name);
    CHECK_THROWS_WITH(taker.run(1.5, DType::int64), name + ": 1.5 is not a value of int64; convert with to(x, dtype)");
    CHECK_THROWS_AS(taker.run(0x1p63, DType::int64), ValueError);
    CHECK_THROWS_AS(taker.run(int64_t{1} << 31, DType::int32), ValueError);
    CHECK_THROWS_AS(taker.run(256, DType::uint8), ValueError);
    CHECK_THROWS_AS(taker.run(-1, DType::uint8), ValueError);
    CHECK_THROWS_AS(taker.run(NAN, DType::int32), ValueError);
  }
  CHECK_THROWS_WITH(Tensor::from({1.5}, {1}, DType::int64),
                    "Tensor::from: 1.5 is not a value of int64; convert with to(x, dtype)");
  CHECK_THROWS_AS(Tensor::from({0x1p63}, {1}, DType::int64), ValueError);
  CHECK_THROWS_AS(Tensor::from({-1}, {1}, DType::uint8), ValueError);
  CHECK(Tensor::from({-0x1p63}, {1}, DType::int64).to_vector<int64_t>()[0] == INT64_MIN);
  CHECK(Tensor::from({0.5, 0, 2}, {3}, DType::boolean).to_vector<double>() == std::vector<double>{1, 0, 1});
}

TEST_CASE("numbers: a half type has one nearest number everywhere") {
  for_each_isa([](const char* isa) {
    for (const DType t : {DType::bfloat16, DType::float16}) {
      // A hair above half way between 1 and the next number: float32 knows no hair.
      const double step = t == DType::bfloat16 ? 0x1p-7 : 0x1p-10, n = 1 + step / 2 + 0x1p-40;
      for (const Taker& taker : takers) {
        const std::string name = taker.name;
        if (name == "add" || name == "mul") continue;  // computed in float32, with the number in float32
        INFO(isa << " " << name << " " << name_of(t));
        CHECK(taker.run(n, t).item() == 1 + step);
      }
      CHECK(Tensor::from({n}, {1}, t).item() == 1 + step);
      const Tensor tenth = full({1}, 0.1, {.dtype = t});
      CHECK(eq(tenth, 0.1).item() == 1);
      CHECK(ge(tenth, 0.1).item() == 1);
      CHECK(le(tenth, 0.1).item() == 1);
    }
  });
}

TEST_CASE("arange in integers is exact") {
  const TensorOptions ints{.dtype = DType::int64};
  using Ints = std::vector<int64_t>;
  for_each_isa([&](const char* isa) {
    INFO(isa);
    CHECK(arange(odd, odd + 3, 1, ints).to_vector<int64_t>() == Ints{odd, odd + 1, odd + 2});
    CHECK(arange(odd, odd - 4, -2, ints).to_vector<int64_t>() == Ints{odd, odd - 2});
    CHECK(arange(INT64_MIN, INT64_MAX, INT64_MAX, ints).to_vector<int64_t>() == Ints{INT64_MIN, -1, INT64_MAX - 1});
    CHECK(arange(INT64_MAX - 1, INT64_MAX, 5, ints).to_vector<int64_t>() == Ints{INT64_MAX - 1});
    CHECK(arange(0, 2.5, 1, ints).to_vector<int64_t>() == Ints{0, 1, 2});
    CHECK(arange(3, -1.5, -1, ints).to_vector<int64_t>() == Ints{3, 2, 1, 0, -1});
    CHECK(arange(300, 300, 1, {.dtype = DType::uint8}).numel() == 0);
    CHECK(arange(2, 0, -1, {.dtype = DType::uint8}).to_vector<int64_t>() == Ints{2, 1});
  });
}

TEST_CASE("arange in integers: what it cannot give is an error") {
  const TensorOptions ints{.dtype = DType::int64};
  CHECK_THROWS_WITH(arange(0, 2.1, 0.5, ints), "arange: 0.5 is not a value of int64; convert with to(x, dtype)");
  CHECK_THROWS_WITH(arange(0.5, 3, 1, ints), "arange: 0.5 is not a value of int64; convert with to(x, dtype)");
  CHECK_THROWS_WITH(arange(250, 260, 1, {.dtype = DType::uint8}),
                    "arange: 259 is not a value of uint8; convert with to(x, dtype)");
  CHECK_THROWS_WITH(arange(0, 5, -1, ints), "arange: step -1 does not lead from 0 to 5");
}
