#include "tutti/nn/detail/named_state.h"

#include "tutti/core/detail/utf8.h"
#include "tutti/core/error.h"

namespace tutti::nn::detail {

using tutti::detail::printable;

Tensor number(int64_t value) { return Tensor::from(std::vector<int64_t>{value}, {}, cpu); }
Tensor number(double value) { return Tensor::from(std::vector<double>{value}, {}, cpu); }
Tensor numbers(const std::vector<double>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())}, cpu);
}
Tensor text(const std::string& value) {
  return Tensor::from(std::vector<uint8_t>(value.begin(), value.end()), {static_cast<int64_t>(value.size())}, cpu);
}

void StateReader::fail(const std::string& what) const { throw ValueError(message(op_, ": ", what)); }

const Tensor& StateReader::get(const std::string& name) {
  const auto it = state_.find(name);
  if (it == state_.end() || !it->second.defined()) fail("the state has no \"" + name + "\"");
  asked_.emplace(name);
  return it->second;
}

const Tensor& StateReader::get(const std::string& name, DType dtype, int rank) {
  const Tensor& t = get(name);
  if (t.dtype() != dtype || t.rank() != rank)
    fail(message("\"", name, "\" of the state is ", t.dtype(), " of shape ", t.shape(), ", not ", dtype,
                 rank == 0 ? " of shape []" : " of shape [n]"));
  return t;
}

int64_t StateReader::integer(const std::string& name) { return get(name, DType::int64, 0).to_vector<int64_t>()[0]; }
double StateReader::real(const std::string& name) { return get(name, DType::float64, 0).to_vector<double>()[0]; }
std::vector<double> StateReader::reals(const std::string& name) {
  return get(name, DType::float64, 1).to_vector<double>();
}
std::string StateReader::text(const std::string& name) {
  const auto bytes = get(name, DType::uint8, 1).to_vector<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

void StateReader::end() const {
  for (const auto& [name, t] : state_)
    if (!asked_.contains(name)) fail("the state has \"" + printable(name) + "\", which nothing here takes");
}

}  // namespace tutti::nn::detail
