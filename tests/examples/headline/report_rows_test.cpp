#include "grouped_vs_standard/headline/report_rows.h"

#include "support/catch.h"
#include "support/files.h"
#include "tutti/core/error.h"

using namespace comparison;
using namespace tutti_test;

namespace {

nlohmann::json result() {
  return nlohmann::json::parse(R"({"environment": "cuda:0, Tutti 0.1.0",
    "arms": [{"rates": [100, 104, 90], "tensor_bytes": 34e6}, {"rates": [80, 82, 90], "tensor_bytes": 33e6}],
    "speed_ratio": {"value": 0.82, "low": 0.81, "high": 0.83},
    "memory_ratio": 0.9706, "verdicts": {"speed": "slower, differs", "memory": "smaller"}})");
}

}  // namespace

TEST_CASE("gpu rows: not run until they are, then what was measured") {
  const auto none = gpu_rows(nullptr);
  REQUIRE(none.size() == 3);
  CHECK(none[0] == std::vector<std::string>{"training speed on a GPU (iter/s)", "12.3", "11.8", "0.959", "not run",
                                            "not run", "not run", "not run"});
  CHECK(none[1][3] == "+3.2");
  CHECK(none[2][1] == "3420");
  const auto some = gpu_rows(result());
  CHECK(some[0] == std::vector<std::string>{"training speed on a GPU (iter/s)", "12.3", "11.8", "0.959", "100.0",
                                            "82.0", "0.820 [0.810, 0.830]", "slower, differs"});
  CHECK(some[1] == none[1]);  // interrupted before the first seed was through
  CHECK(some[2][4] == "34.00");
  CHECK(some[2][6] == "0.971");
}

TEST_CASE("gpu rows: only a file of a CUDA device is read") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& text) {
    write_file(folder / "gpu.json", text);
    return folder / "gpu.json";
  };
  CHECK(read_gpu_result("").is_null());
  CHECK(read_gpu_result(write(result().dump())) == result());
  nlohmann::json cpu = result();
  cpu["environment"] = "cpu, avx2, 2 threads, Tutti 0.1.0";
  CHECK_THROWS_WITH(read_gpu_result(write(cpu.dump())),
                    Contains("gpu.json: a result of cpu, avx2") && Contains("not of a CUDA device"));
  CHECK_THROWS_AS(read_gpu_result(write("{}")), tutti::ValueError);
  CHECK_THROWS_AS(read_gpu_result(write("[1")), tutti::ValueError);
  CHECK_THROWS_AS(read_gpu_result(folder / "none.json"), tutti::IoError);
}
