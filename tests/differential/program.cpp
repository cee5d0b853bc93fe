#include "differential/program.h"

#include <sstream>

namespace differential {

tutti::DType Library::dtype(Kind kind) const {
  return kind == Kind::real      ? real
         : kind == Kind::integer ? tutti::DType::int64
         : kind == Kind::narrow  ? tutti::DType::int32
                                 : tutti::DType::boolean;
}

double weight(int value, int64_t i) {
  const uint64_t z = (static_cast<uint64_t>(value) * 1000003u + static_cast<uint64_t>(i)) * 0x9E3779B97F4A7C15u;
  return (static_cast<double>(z >> 57) - 63.5) / 64;
}

std::vector<const Operation*> operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> table;
    for (const auto& family : {unary_operations, arithmetic_operations, compare_operations, shape_operations,
                               copy_operations, reduce_operations, extrema_operations, order_operations,
                               in_place_operations, image_operations, index_operations,
                               product_operations, row_operations, loss_operations, attention_operations})
      for (const Operation& o : family()) table.push_back(o);
    return table;
  }();
  std::vector<const Operation*> list;
  for (const Operation& o : all) list.push_back(&o);
  return list;
}

namespace {

template <class T>
void list(std::ostream& to, const char* before, const std::vector<T>& values, const char* after, size_t most = 32) {
  to << before;
  for (size_t i = 0; i < values.size() && i < most; ++i) to << (i ? ", " : "") << values[i];
  to << (values.size() > most ? ", .." : "") << after;
}

}  // namespace

std::string text(const Shape& shape) {
  std::ostringstream s;
  list(s, "[", shape, "]");
  return s.str();
}

std::string listing(const Program& program) {
  std::ostringstream s;
  s.precision(17);
  s << "program " << program.seed << "\n";
  const char* const kinds[] = {"real", "int64", "int32", "bool"};
  const char* const layouts[] = {"", " transposed", " sliced", " broadcast"};
  for (const auto& [id, leaf] : program.leaves) {
    s << "  v" << id << " = leaf " << kinds[static_cast<int>(leaf.kind)] << text(leaf.shape)
      << (leaf.grad ? " grad" : "") << layouts[static_cast<int>(leaf.layout)];
    list(s, " {", leaf.values, "}\n");
  }
  for (const Step& step : program.steps) {
    s << "  ";
    for (size_t i = 0; i < step.out.size(); ++i) s << (i ? ", v" : "v") << step.out[i];
    s << (step.out.empty() ? "" : " = ") << step.operation->name << "(";
    for (size_t i = 0; i < step.in.size(); ++i) {
      s << (i ? ", " : "");
      if (step.in[i] < 0)
        s << "undefined";
      else
        s << "v" << step.in[i];
    }
    s << ")";
    if (!step.n.empty()) list(s, " n = {", step.n, "}");
    if (!step.r.empty()) list(s, " r = {", step.r, "}");
    s << (step.mode == Mode::no_grad      ? " under no_grad"
          : step.mode == Mode::checkpoint ? " in checkpoint"
                                          : "")
      << (step.malformed ? " must throw" : "") << "\n";
  }
  list(s, "  loss over v", program.loss, program.create_graph ? " with create_graph" : "");
  return s.str();
}

}  // namespace differential
