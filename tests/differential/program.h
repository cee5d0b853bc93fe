// A random program: leaves, and steps that apply one operation of the table to values that are there. Values are named
// by number, leaves and results alike.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "differential/plain.h"
#include "support/op_test.h"
#include "tutti/core/tensor.h"

namespace differential {

struct Leaf {
  Kind kind = Kind::real;
  Shape shape;
  std::vector<double> values;  // float32 holds them
  bool grad = false;
  tutti_test::Layout layout = tutti_test::Layout::contiguous;
};

enum class Mode { plain, no_grad, checkpoint };

struct Operation;
struct Step {
  const Operation* operation = nullptr;
  std::vector<int> in;     // values; -1: an undefined tensor
  std::vector<int64_t> n;  // axes, sizes, flags
  std::vector<double> r;   // numbers, which float32 holds
  std::vector<int> out;
  Mode mode = Mode::plain;
  bool malformed = false;  // must throw, and change nothing
};

struct Program {
  uint64_t seed = 0;
  std::map<int, Leaf> leaves;
  std::vector<Step> steps;
  std::vector<int> loss;  // its terms: sum(value * weights_of(value))
  bool create_graph = false;
  int values = 0;
};

/// The library's side: the floating dtype of this run.
struct Library {
  tutti::DType real;
  tutti::DType dtype(Kind kind) const;
};

class Draw;
using Tensors = tutti_test::Tensors;

/// One row of the table: a public function.
struct Operation {
  const char* name;
  bool (*propose)(Draw& draw, Step& step);  ///< picks values and numbers; false: nothing fits
  Tensors (*library)(const Library&, const Step&, const Tensors& x);
  Plains (*plain)(const Step&, const Plains& x);
  enum Trait { results, view, writes, no_gradient } trait = results;  ///< no_gradient: never wants a gradient
  /// What a malformed call may break: n[0] is an axis; the first value must be floating; the last value must fit the
  /// first one's shape; the first value must be defined.
  struct Breaks {
    bool axis = false, floating = false, fit = false;
  } breaks{};
  int weight = 4;
};

std::string listing(const Program& program);
std::string text(const Shape& shape);
/// The weight of element i in the loss.
double weight(int value, int64_t i);

/// All families.
std::vector<const Operation*> operations();

// One per family: unary.cpp, arithmetic.cpp, ..
std::vector<Operation> unary_operations();
std::vector<Operation> arithmetic_operations();
std::vector<Operation> compare_operations();
std::vector<Operation> shape_operations();
std::vector<Operation> copy_operations();
std::vector<Operation> reduce_operations();
std::vector<Operation> extrema_operations();
std::vector<Operation> order_operations();
std::vector<Operation> in_place_operations();
std::vector<Operation> image_operations();
std::vector<Operation> index_operations();
std::vector<Operation> product_operations();
std::vector<Operation> row_operations();
std::vector<Operation> loss_operations();
std::vector<Operation> attention_operations();

}  // namespace differential
