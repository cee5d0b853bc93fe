#include "tutti/ops/einsum.h"

#include <algorithm>
#include <string>

#include "tutti/core/check.h"
#include "tutti/core/error.h"
#include "tutti/ops/arithmetic.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduce.h"
#include "tutti/ops/shape.h"

namespace tutti {
namespace {

using std::string;

struct Equation {
  std::vector<string> in;
  string out;
};

bool has(const string& labels, char label) { return labels.find(label) != string::npos; }

[[noreturn]] void fail(std::string_view equation, const string& why) {
  throw ValueError(message("einsum: \"", string(equation), "\": ", why));
}

void check_labels(std::string_view equation, const string& labels, const char* where) {
  for (char c : labels) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      fail(equation, message("'", string(1, c), "' is no letter"));
    if (std::count(labels.begin(), labels.end(), c) > 1)
      fail(equation, message("'", string(1, c), "' occurs twice in ", where, " \"", labels, "\""));
  }
}

Equation parse(std::string_view equation, size_t operands) {
  string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  Equation e;
  string rest = text.substr(0, arrow);
  for (size_t comma; (comma = rest.find(',')) != string::npos; rest = rest.substr(comma + 1))
    e.in.push_back(rest.substr(0, comma));
  e.in.push_back(rest);
  if (e.in.size() != operands)
    fail(equation, message("it has ", e.in.size(), " operand(s), and ", operands, " are given"));
  string all;
  for (const string& labels : e.in) {
    check_labels(equation, labels, "operand");
    all += labels;
  }
  if (arrow != string::npos) {
    e.out = text.substr(arrow + 2);
    check_labels(equation, e.out, "result");
    for (char c : e.out)
      if (!has(all, c)) fail(equation, message("'", string(1, c), "' of the result is in no operand"));
  } else {
    std::sort(all.begin(), all.end());
    for (char c : all)
      if (std::count(all.begin(), all.end(), c) == 1) e.out += c;
  }
  return e;
}

void check_rank(std::string_view equation, const string& labels, const Tensor& x) {
  if (static_cast<int>(labels.size()) != x.rank())
    throw ShapeError(message("einsum: \"", string(equation), "\": operand \"", labels, "\" has ", labels.size(),
                             " axes, and its shape is ", x.shape()));
}

/// Sums over the axes whose labels are not among `wanted`, and forgets the labels.
Tensor summed(const Tensor& x, string& labels, const string& wanted) {
  Dims axes;
  string kept;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (has(wanted, labels[i]))
      kept += labels[i];
    else
      axes.push(static_cast<int64_t>(i));
  }
  labels = kept;
  return axes.empty() ? x : sum(x, axes);
}

/// x's axes in the order of `to`, which has the same letters as `from`.
Tensor ordered(const Tensor& x, const string& from, const string& to) {
  if (from == to) return x;
  Dims axes;
  for (char c : to) axes.push(static_cast<int64_t>(from.find(c)));
  return permute(x, axes);
}

/// The letters of a that are in b, or (not `in`) that are not.
string those(const string& a, const string& b, bool in) {
  string result;
  for (char c : a)
    if (has(b, c) == in) result += c;
  return result;
}

/// The sizes of x's axes from `first` on, `count` of them.
Dims sizes(const Tensor& x, size_t first, size_t count) {
  Dims d;
  for (size_t i = 0; i < count; ++i) d.push(x.shape()[static_cast<int>(first + i)]);
  return d;
}
Dims joined(Dims a, const Dims& b) {
  for (int64_t s : b) a.push(s);
  return a;
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensor& x) {
  check_floating("einsum", x);
  Equation e = parse(equation, 1);
  check_rank(equation, e.in[0], x);
  const Tensor y = summed(x, e.in[0], e.out);
  return ordered(y, e.in[0], e.out);
}

Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b) {
  check_same("einsum", a, b);
  check_floating("einsum", a, "a");
  Equation e = parse(equation, 2);
  string &in_a = e.in[0], &in_b = e.in[1];
  check_rank(equation, in_a, a);
  check_rank(equation, in_b, b);
  for (char c : those(in_a, in_b, true)) {
    const int64_t m = a.shape()[static_cast<int>(in_a.find(c))], n = b.shape()[static_cast<int>(in_b.find(c))];
    if (m != n)
      throw ShapeError(message("einsum: \"", string(equation), "\": '", string(1, c), "' is ", m, " in shape ",
                               a.shape(), " and ", n, " in shape ", b.shape()));
  }
  const Tensor x = summed(a, in_a, in_b + e.out), y = summed(b, in_b, in_a + e.out);
  const string both = those(in_a, in_b, true), batch = those(both, e.out, true), inner = those(both, e.out, false);
  const string left = those(in_a, in_b, false), right = those(in_b, in_a, false);
  const Tensor p = ordered(x, in_a, batch + left + inner), q = ordered(y, in_b, batch + inner + right);
  const Dims batches = sizes(p, 0, batch.size()), lefts = sizes(p, batch.size(), left.size());
  const Dims rights = sizes(q, batch.size() + inner.size(), right.size());
  const int64_t k = sizes(q, batch.size(), inner.size()).product();
  const Dims from = joined(batches, {lefts.product(), k}), to = joined(batches, {k, rights.product()});
  const Tensor product =
      inner.empty() ? mul(reshape(p, from), reshape(q, to)) : matmul(reshape(p, from), reshape(q, to));
  return ordered(reshape(product, joined(joined(batches, lefts), rights)), batch + left + right, e.out);
}

}  // namespace tutti
