#include "grouped_vs_standard/tasks/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>

#include "tutti/tutti.h"

namespace comparison {

using namespace tutti;

std::string data_file(const std::string& name) {
  std::vector<std::string> folders{DATA_FOLDER, DIGITS_FOLDER};
  if (const char* chosen = std::getenv("TUTTI_DATA"); chosen && *chosen) folders = {chosen};
  for (const std::string& folder : folders)
    if (const std::string path = folder + "/" + name; std::filesystem::exists(path)) return path;
  std::string places = folders[0];
  for (size_t i = 1; i < folders.size(); ++i) places += " or " + folders[i];
  throw IoError(name + ": not in " + places + "; the environment variable TUTTI_DATA can name another folder");
}

DataTable read_table(const std::string& name, const TableShape& shape) {
  const auto [rows, features, classes, header] = shape;
  const std::string path = data_file(name);
  const Tensor all = data::read_csv(
      path, {.header = header, .missing = std::numeric_limits<double>::quiet_NaN(), .allow_missing = true});
  if (all.shape() != Dims{rows, features + 1})
    throw IoError(message(path, ": shape ", all.shape(), ", expected ", Dims{rows, features + 1}));
  for (const double label : select(all, 1, features).to_vector<double>())
    if (!(label >= 0 && label < static_cast<double>(classes) && label == std::floor(label)))
      throw IoError(message(path, ": class ", label, ", expected 0 to ", classes - 1));
  return {contiguous(slice(all, 1, 0, features)), to(select(all, 1, features), DType::int64)};
}

namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

Scaling scaling_of(const Tensor& training_features) {
  const int64_t rows = training_features.size(0), columns = training_features.size(1);
  if (rows == 0) throw ValueError("scaling_of: no rows");
  Scaling s;
  for (int64_t c = 0; c < columns; ++c) {
    std::vector<double> values = select(training_features, 1, c).to_vector<double>(), present;
    for (const double v : values)
      if (!std::isnan(v)) present.push_back(v);
    const double median = median_of(std::move(present));
    for (double& v : values)
      if (std::isnan(v)) v = median;
    const double n = static_cast<double>(rows), mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    const bool constant = std::equal(values.begin() + 1, values.end(), values.begin());
    double squares = 0;
    for (const double v : values) squares += (v - mean) * (v - mean);
    s.median.push_back(median);
    s.mean.push_back(mean);
    s.deviation.push_back(constant ? 1 : std::sqrt(squares / n));
  }
  return s;
}

Tensor Scaling::operator()(const Tensor& features) const {
  std::vector<double> values = features.to_vector<double>();
  std::vector<float> scaled(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i % mean.size();
    const double v = std::isnan(values[i]) ? median[c] : values[i];
    scaled[i] = static_cast<float>(std::clamp((v - mean[c]) / deviation[c], -5.0, 5.0));
  }
  return Tensor::from(scaled, features.shape());
}

Tensor tokens_of_families(const Tensor& features, const std::vector<int64_t>& sizes) {
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (features.rank() != 2 || features.size(1) != sum)
    throw ShapeError(
        message("tokens_of_families: shape ", features.shape(), ", but the families have ", sum, " columns together"));
  const int64_t widest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<Tensor> tokens;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    tokens.push_back(pad(slice(features, 1, begin, begin + size), {0, 0}, {0, widest - size}));
    begin += size;
  }
  return stack(tokens, 1);
}

}  // namespace comparison
