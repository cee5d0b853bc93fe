#include "tutti/ops/einsum.h"

#include <map>
#include <string>

#include "support/malformed.h"
#include "support/op_test.h"

using namespace tutti;
using namespace tutti_test;

namespace {

/// Every combination of all letters, one after the other.
Array reference(const std::string& a, const std::string& b, const std::string& out, const Arrays& x) {
  std::map<char, int64_t> size, at;
  for (size_t i = 0; i < a.size(); ++i) size[a[i]] = x[0].shape[static_cast<int>(i)];
  for (size_t i = 0; i < b.size(); ++i) size[b[i]] = x[1].shape[static_cast<int>(i)];
  Dims shape;
  for (char c : out) shape.push(size[c]);
  Array y(shape);
  const auto flat = [&](const std::string& labels) {
    int64_t i = 0;
    for (char c : labels) i = i * size[c] + at[c];
    return i;
  };
  int64_t combinations = 1;
  for (const auto& [label, n] : size) combinations *= n;
  for (int64_t k = 0; k < combinations; ++k) {
    int64_t rest = k;
    for (const auto& [label, n] : size) {
      at[label] = rest % n;
      rest /= n;
    }
    y[flat(out)] += x[0][flat(a)] * (b.empty() && x.size() == 1 ? 1 : x[1][flat(b)]);
  }
  return y;
}

void check(const std::string& a, const std::string& b, const std::string& out, const std::vector<Dims>& shapes) {
  const std::string equation = a + ", " + b + " -> " + out;
  op_test("einsum " + equation, {.shapes = {shapes},
                                 .op = [&](const Tensors& x) { return einsum(equation, x[0], x[1]); },
                                 .reference = [&](const Arrays& x) { return reference(a, b, out, x); }});
}

}  // namespace

TEST_CASE("einsum of two operands equals every product added up, and so do its gradients") {
  check("ij", "jk", "ik", {{3, 5}, {5, 4}});
  check("ij", "kj", "ki", {{3, 5}, {4, 5}});
  check("bij", "bjk", "bik", {{2, 3, 5}, {2, 5, 4}});
  check("bhqd", "bhkd", "bhqk", {{2, 2, 3, 5}, {2, 2, 4, 5}});
  check("bqhd", "bkhd", "bhqk", {{2, 3, 2, 5}, {2, 4, 2, 5}});
  check("bhqk", "bkhd", "bqhd", {{2, 2, 3, 4}, {2, 4, 2, 5}});
  check("abc", "cbd", "da", {{2, 3, 4}, {4, 3, 5}});
  check("i", "i", "", {{7}, {7}});
  check("i", "j", "ij", {{3}, {4}});
  check("i", "j", "ji", {{3}, {4}});
  check("bi", "bj", "bij", {{2, 3}, {2, 4}});
  check("ij", "ij", "ij", {{3, 4}, {3, 4}});
  check("ij", "ij", "i", {{3, 4}, {3, 4}});
  check("ijk", "l", "k", {{2, 3, 4}, {3}});
  check("", "ij", "ji", {{}, {3, 4}});
  check("ij", "jk", "ik", {{3, 0}, {0, 4}});
}

TEST_CASE("einsum: one operand, results that are not spelled out, second derivatives") {
  op_test("einsum ijk->ki", {.shapes = {{{2, 3, 4}}, {{1, 5, 3}}},
                             .op = [](const Tensors& x) { return einsum("ijk->ki", x[0]); },
                             .reference = [](const Arrays& x) { return reference("ijk", "", "ki", x); }});
  const Tensor a = random_tensor({3, 4}, DType::float64, 1), b = random_tensor({4, 5}, DType::float64, 2);
  check_identical(einsum("ij,jk", a, b), matmul(a, b));
  check_identical(einsum("kj,ji", a, b), transpose(matmul(a, b), 0, 1));  // in alphabetical order
  check_identical(einsum("ba", a), transpose(a, 0, 1));
  Tensor x = clone(a).requires_grad_(), y = clone(b).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& v) { return einsum("ij,jk->k", v[0], v[1]); }, {x, y}));
}

TEST_CASE("malformed: einsum") {
  check_malformed({
      {[](const Given& g) { einsum("ij,jk->ik", g.x); }, "ValueError",
       "einsum: \"ij,jk->ik\": it has 2 operand(s), and 1 are given"},
      {[](const Given& g) { einsum("ij", g.x, g.x); }, "ValueError",
       "einsum: \"ij\": it has 1 operand(s), and 2 are given"},
      {[](const Given& g) { einsum("ii->i", g.x); }, "ValueError",
       "einsum: \"ii->i\": 'i' occurs twice in operand \"ii\""},
      {[](const Given& g) { einsum("ij->ii", g.x); }, "ValueError",
       "einsum: \"ij->ii\": 'i' occurs twice in result \"ii\""},
      {[](const Given& g) { einsum("ij->ik", g.x); }, "ValueError",
       "einsum: \"ij->ik\": 'k' of the result is in no operand"},
      {[](const Given& g) { einsum("...j->j", g.x); }, "ValueError", "einsum: \"...j->j\": '.' is no letter"},
      {[](const Given& g) { einsum("ijk->i", g.x); }, "ShapeError",
       "einsum: \"ijk->i\": operand \"ijk\" has 3 axes, and its shape is [2, 3]"},
      {[](const Given& g) { einsum("ij,jk->ik", g.x, g.weight); }, "ShapeError",
       "einsum: \"ij,jk->ik\": 'j' is 3 in shape [2, 3] and 5 in shape [5, 2]"},
      {[](const Given& g) { einsum("i,i->", g.indices, g.indices); }, "DTypeError",
       "einsum: int64 is not a floating dtype"},
      {[](const Given& g) { einsum("ij->i", g.none); }, "ValueError", "einsum: x is undefined"},
      {[](const Given& g) { einsum("ij,ij->i", g.x, g.none); }, "ValueError", "einsum: b is undefined"},
  });
}
