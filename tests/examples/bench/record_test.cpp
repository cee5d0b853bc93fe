// tutti-bench kernels: medians and their intervals, what is flagged, and files that are none of its own.
#include "bench/record.h"

#include "support/files.h"

using namespace bench;

namespace {

Record record_of(std::vector<double> seconds) {
  Record r{"cpu, 2 threads", "machine", "abc", {}, {}};
  r.cases.push_back({"exp 10", {0, 40, 40}, std::move(seconds)});
  return r;
}

}  // namespace

TEST_CASE("bench: the interval of a median covers it with 95 percent, by the binomial distribution", "[bench]") {
  const Median nine = median({9, 1, 8, 2, 7, 3, 6, 4, 5});
  REQUIRE(nine.value == 5);
  REQUIRE(nine.low == 2);  // P(fewer than 2 of 9 heads) = 10 / 512
  REQUIRE(nine.high == 8);
  REQUIRE(nine.coverage == Approx(1 - 20.0 / 512));
  std::vector<double> many;
  for (int i = 1; i <= 30; ++i) many.push_back(i);
  const Median thirty = median(many);  // the textbooks' 10th and 21st: .9572
  REQUIRE(thirty.value == 15.5);
  REQUIRE(thirty.low == 10);
  REQUIRE(thirty.high == 21);
  REQUIRE(thirty.coverage == Approx(0.9572).margin(1e-4));
  const Median two = median({3, 1});  // too few for 95 percent: the range
  REQUIRE(two.value == 2);
  REQUIRE(two.low == 1);
  REQUIRE(two.high == 3);
  REQUIRE(two.coverage == 0.5);
  REQUIRE(median({4}).low == 4);
  REQUIRE(median({4}).coverage == 0);
  REQUIRE_THROWS_WITH(median({}), "median: of nothing");
}

TEST_CASE("bench: flagged is what lies outside the noise of both runs", "[bench]") {
  const Record before = record_of({10, 11, 12, 10, 11, 12});
  REQUIRE_THAT(comparison(before, record_of({5, 6, 5, 6, 5, 6})), Contains("2.000") && Contains("  faster\n1 faster"));
  REQUIRE_THAT(comparison(before, record_of({13, 14, 13, 14, 13, 14})), Contains("SLOWER") && Contains("1 slower"));
  REQUIRE_THAT(comparison(before, record_of({9, 11, 9, 11, 9, 11})), Contains("0 faster, 0 slower, 1 within noise"));
  Record other = record_of({1});
  other.cases[0].name = "exp 20";
  other.machine = "another";
  REQUIRE_THAT(comparison(before, other),
               Contains("another machine") && Contains("0 within noise; 2 in one of the two alone"));
}

TEST_CASE("bench: a roof is the longer of arithmetic and memory, at the bandwidth for the size", "[bench]") {
  const Peaks peaks{100, {{1000, 30, 10, 20}, {100000, 3, 1, 2}}};
  REQUIRE(roof(peaks, {1000, 60, 40}).seconds == 10);  // below the smallest: 100 bytes at triad's 20 a second are 5
  REQUIRE(roof(peaks, {1000, 60, 40}).arithmetic);
  REQUIRE(roof(peaks, {0, 60, 40}).seconds == 5);
  REQUIRE(roof(peaks, {0, 300, 0}).seconds == 10);                        // it only reads
  REQUIRE(roof(peaks, {0, 5000, 5000}).seconds == Approx(10000 / 11.0));  // half way, by logarithm
  REQUIRE(roof(peaks, {0, 1e6, 1e6}).seconds == 1e6);
  REQUIRE(roof(Peaks{}, {1, 1, 1}).seconds == 0);
  REQUIRE(roof(peaks, {}).seconds == 0);
}

TEST_CASE("bench: a record is read as it was written", "[bench]") {
  const tutti_test::TemporaryFolder folder;
  Record r = record_of({0.25, 0.5});
  r.peaks = {1e9, {{1024, 3, 1, 2}}};
  for (const bool peaks : {true, false}) {
    if (!peaks) r.peaks = {};
    tutti_test::write_file(folder / "r.json", to_json(r).dump());
    REQUIRE(to_json(read_record(folder / "r.json")) == to_json(r));
  }
}

TEST_CASE("bench: a file of another kind is refused by name", "[bench]") {
  const tutti_test::TemporaryFolder folder;
  const std::string path = folder / "r.json";
  const auto refuse = [&](const std::string& contents, const std::string& why) {
    tutti_test::write_file(path, contents);
    REQUIRE_THROWS_WITH(read_record(path), path + ": " + why);
  };
  REQUIRE_THROWS_WITH(read_record(folder / "none"), (folder / "none") + ": cannot be read");
  REQUIRE_THROWS_WITH(read_record(folder / ""), (folder / "") + ": cannot be read");
  refuse("", "is not JSON");
  refuse("{\"format\": ", "is not JSON");
  for (const char* other : {"[]", "3", "{}", R"({"format": "other"})", R"({"format": 3})"})
    refuse(other, "is not a file of tutti-bench kernels --json");
  const auto changed = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json j = to_json(record_of({1}));
    j[nlohmann::json::json_pointer(pointer)] = value;
    return j.dump();
  };
  refuse(changed("/cases/0/seconds", {1, 0}), "0 is no time or rate");
  refuse(changed("/cases/0/seconds", {-1}), "-1 is no time or rate");
  refuse(changed("/cases/0/seconds", nlohmann::json::array()), "'exp 10' has no seconds");
  refuse(changed("/peaks", {{"flop_per_second", 0}}), "0 is no time or rate");
  refuse(changed("/cases", nullptr), "has no cases");
  refuse(changed("/cases", nlohmann::json::array()), "has no cases");
  for (const char* pointer :
       {"/cases/0", "/cases/0/seconds", "/cases/0/name", "/cases/0/flop", "/environment", "/peaks"})
    for (const nlohmann::json& value : {nlohmann::json(true), nlohmann::json::object(), nlohmann::json({nullptr})}) {
      INFO(pointer << " " << value);
      tutti_test::write_file(path, changed(pointer, value));
      REQUIRE_THROWS_AS(read_record(path), tutti::IoError);
      REQUIRE_THROWS_WITH(read_record(path), Contains(path + ": "));
    }
}
