// Tables: reading, scaling by the training part alone, families as tokens.
#if __has_include("grouped_vs_standard/tasks/table.h")
#include "grouped_vs_standard/tasks/table.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "support/catch.h"
#include "support/files.h"

using namespace comparison;
using tutti::Tensor;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// TUTTI_DATA while it lives.
struct DataFolder {
  explicit DataFolder(const std::string& folder) { setenv("TUTTI_DATA", folder.c_str(), 1); }
  ~DataFolder() { unsetenv("TUTTI_DATA"); }
};

}  // namespace

TEST_CASE("data_file: TUTTI_DATA names another folder, and a missing file names the places", "[tasks]") {
  REQUIRE(data_file("splice.csv.gz").ends_with("/splice.csv.gz"));
  REQUIRE(data_file("digits.csv.gz").ends_with("/digits.csv.gz"));
  REQUIRE_THROWS_WITH(data_file("none.csv.gz"), Contains("none.csv.gz") && Contains("grouped_vs_standard/data") &&
                                                    Contains("train_digits") && Contains("TUTTI_DATA"));
  const tutti_test::TemporaryFolder folder;
  const DataFolder other(folder / "");
  REQUIRE_THROWS_AS(data_file("splice.csv.gz"), tutti::IoError);
  tutti_test::write_file(folder / "none.csv.gz", "1,0\n");
  REQUIRE(data_file("none.csv.gz") == folder / "" + "/none.csv.gz");
}

TEST_CASE("read_table: features, missing values, classes", "[tasks]") {
  const tutti_test::TemporaryFolder folder;
  const DataFolder other(folder / "");
  tutti_test::write_file(folder / "a.csv", "width,height,class\n1.5,?,0\n-2,4,1\n");
  const DataTable table = read_table("a.csv", {.rows = 2, .features = 2, .classes = 2});
  REQUIRE(table.features.shape() == tutti::Dims{2, 2});
  REQUIRE(table.features.at({0, 0}) == 1.5);
  REQUIRE(std::isnan(table.features.at({0, 1})));
  REQUIRE(table.labels.to_vector<int64_t>() == std::vector<int64_t>{0, 1});
  REQUIRE_THROWS_WITH(read_table("a.csv", {.rows = 3, .features = 2, .classes = 2}),
                      Contains("a.csv: shape [2, 3]") && Contains("[3, 3]"));
  REQUIRE_THROWS_WITH(read_table("a.csv", {.rows = 2, .features = 2, .classes = 1}),
                      Contains("class 1, expected 0 to 0"));
  tutti_test::write_file(folder / "b.csv", "1,?\n2,0\n");
  REQUIRE_THROWS_AS(read_table("b.csv", {.rows = 2, .features = 1, .classes = 2, .header = false}), tutti::IoError);
}

TEST_CASE("scaling: median of what is there, mean and deviation of the training rows, cut to 5", "[tasks]") {
  const Tensor train =
      Tensor::from(std::vector<double>{1, 7, missing, missing, 7, missing, 3, 7, missing, 8, 7, missing}, {4, 3});
  const Scaling s = scaling_of(train);
  REQUIRE(s.median == std::vector<double>{3, 7, 0});
  REQUIRE(s.mean == std::vector<double>{3.75, 7, 0});  // 1, 3 (the median), 3, 8
  REQUIRE(s.deviation[0] == Approx(std::sqrt((2.75 * 2.75 + 2 * 0.75 * 0.75 + 4.25 * 4.25) / 4)));
  REQUIRE(s.deviation[1] == 1);  // constant
  REQUIRE(s.deviation[2] == 1);  // nothing there
  const Tensor z = s(Tensor::from(std::vector<double>{missing, 8, 0.5, 1000, 7, missing}, {2, 3}));
  REQUIRE(z.dtype() == tutti::DType::float32);
  REQUIRE(z.at({0, 0}) == Approx(-0.75 / s.deviation[0]));
  REQUIRE(z.at({0, 1}) == 1);
  REQUIRE(z.at({0, 2}) == 0.5);
  REQUIRE(z.at({1, 0}) == 5);
  REQUIRE(z.at({1, 1}) == 0);
  REQUIRE(z.at({1, 2}) == 0);
  REQUIRE_THROWS_AS(scaling_of(Tensor::from(std::vector<double>{}, {0, 3})), tutti::ValueError);
}

TEST_CASE("tokens_of_families pads the narrower families with zeros", "[tasks]") {
  const Tensor x = Tensor::from({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 6});
  const Tensor tokens = tokens_of_families(x, {1, 3, 2});
  REQUIRE(tokens.shape() == tutti::Dims{2, 3, 3});
  REQUIRE(tokens.to_vector<float>() == std::vector<float>{1, 0, 0, 2, 3, 4, 5, 6, 0, 7, 0, 0, 8, 9, 10, 11, 12, 0});
  REQUIRE_THROWS_WITH(tokens_of_families(x, {1, 3}), Contains("[2, 6]") && Contains("4 columns"));
}
#endif
