// A safetensors file opened as a thing: what is in it, one tensor alone, and a model in several files.
#include "tutti/core/safetensors_file.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "support/files.h"
#include "tutti/core/safetensors.h"

using namespace tutti;
using tutti_test::read_file;
using tutti_test::TemporaryFolder;
using tutti_test::write_file;

namespace {

Tensor matrix() { return Tensor::from({1, 2, 3, 4}, {2, 2}); }

/// The dtype of one tensor exchanged for another name of as many characters.
void rename_dtype(const std::string& path, const std::string& from, const std::string& to) {
  std::string bytes = read_file(path);
  bytes.replace(bytes.find('"' + from + '"'), from.size() + 2, '"' + to + '"');
  write_file(path, bytes);
}

void write_index(const std::string& path, const std::string& weight_map) {
  write_file(path,
             R"( {"metadata": {"total_size": 1.5e1, "x": [1, {"y": null}]}, "weight_map": {)" + weight_map + "}}\n");
}

}  // namespace

TEST_CASE("safetensors_file: names, shapes, dtypes and texts, and one tensor alone") {
  const TemporaryFolder folder;
  const std::string path = folder / "x", front = "SafetensorsFile: " + path + ": ";
  save_safetensors(path, {{"layer.weight", matrix()}, {"layer.bias", Tensor::from({5, 6}, {2}, DType::bfloat16)}},
                   {{"format", "pt"}});
  const SafetensorsFile file(path);
  CHECK(file.names() == std::vector<std::string>{"layer.bias", "layer.weight"});
  CHECK(file.size() == 2);
  CHECK(file.contains("layer.bias"));
  CHECK_FALSE(file.contains("bias"));
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  const SafetensorsEntry& bias = file.entry("layer.bias");
  CHECK(bias.dtype == "BF16");
  CHECK(bias.shape == Dims{2});
  CHECK(bias.bytes == 4);
  CHECK(bias.file == path);
  CHECK(bias.readable);
  CHECK(file.get("layer.bias").to_vector<float>() == std::vector<float>{5, 6});
  const size_t before = memory::stats(cpu).current;
  const Tensor weight = file.get("layer.weight", cpu);
  CHECK(memory::stats(cpu).current - before == 64);  // that one, rounded up
  CHECK(weight.to_vector<float>() == matrix().to_vector<float>());
  CHECK(file.tensors().size() == 2);
  REQUIRE_THROWS_AS(file.get("layer.wieght"), IoError);
  REQUIRE_THROWS_WITH(file.get("layer.wieght"), front + "no tensor 'layer.wieght'; there is 'layer.weight'");
  REQUIRE_THROWS_WITH(file.entry("x"), front + "no tensor 'x'; it has 2 tensors, the first is 'layer.bias'");
  REQUIRE_THROWS_WITH(file.get("layer.bias", Device::cuda(7)), Contains("cuda"));

  // Another file of that name is not this one; and copies share what is open.
  const SafetensorsFile copy = file;
  save_safetensors(path, {});
  CHECK(SafetensorsFile(path).size() == 0);
  CHECK(copy.get("layer.weight").to_vector<float>() == matrix().to_vector<float>());
}

TEST_CASE("safetensors_file: a dtype that is none of ours makes that tensor unreadable, no other") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  save_safetensors(path, {{"a", matrix()}, {"b", Tensor::from({7}, {1}, DType::uint8)}});
  rename_dtype(path, "U8", "I8");
  const SafetensorsFile file(path);
  CHECK(file.names().size() == 2);
  CHECK(file.entry("b").dtype == "I8");
  CHECK_FALSE(file.entry("b").readable);
  CHECK(file.get("a").to_vector<float>() == matrix().to_vector<float>());
  REQUIRE_THROWS_WITH(file.get("b"), "SafetensorsFile: " + path +
                                         ": tensor 'b': unknown dtype 'I8'; SafetensorsFile "
                                         "reads the others one by one");
  REQUIRE_THROWS_WITH(load_safetensors(path), "load_safetensors: " + path +
                                                  ": tensor 'b': unknown dtype 'I8'; "
                                                  "SafetensorsFile reads the others one by one");
}

TEST_CASE("safetensors_file: a file cut short after it was opened is an error, not a signal") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  save_safetensors(path, {{"a", matrix()}});
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  REQUIRE_THROWS_WITH(file.get("a"), "SafetensorsFile: " + path + ": ends too early");
  REQUIRE_THROWS_WITH(SafetensorsFile(path), Contains("tensor 'a': bytes 0 to 16 of only 15"));
}

TEST_CASE("safetensors_file: several threads read at once") {
  const TemporaryFolder folder;
  std::map<std::string, Tensor> tensors;
  for (int i = 0; i < 8; ++i) tensors[std::to_string(i)] = Tensor::from(std::vector<double>(1000, i), {1000});
  save_safetensors(folder / "x", tensors);
  const SafetensorsFile file(folder / "x");
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const auto values = file.get(std::to_string(i), cpu).to_vector<float>();
      good += std::count(values.begin(), values.end(), static_cast<float>(i)) == 1000;
    });
  for (std::thread& t : threads) t.join();
  CHECK(good == 8);
}

TEST_CASE("safetensors_file: a model in several files") {
  const TemporaryFolder folder;
  const std::string index = folder / "model.safetensors.index.json", one = folder / "model-1.safetensors",
                    two = folder / "model-2.safetensors", front = "SafetensorsFile: " + index + ": ";
  save_safetensors(one, {{"a", matrix()}, {"b", matrix()}}, {{"format", "pt"}});
  save_safetensors(two, {{"c", Tensor::from({1}, {1})}}, {{"format", "other"}, {"more", "x"}});
  const std::string good = R"("a": "model-1.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors")";
  write_index(index, good);
  const SafetensorsFile file(index);
  CHECK(file.names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(file.entry("c").file == two);
  CHECK(file.get("c").item() == 1);
  CHECK(file.get("b").to_vector<float>() == matrix().to_vector<float>());
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}, {"more", "x"}});
  CHECK(load_safetensors(index).size() == 3);
  CHECK(load_safetensors_metadata(index).at("more") == "x");

  const auto complaint = [&](const std::string& weight_map) {
    write_index(index, weight_map);
    try {
      SafetensorsFile opened(index);
    } catch (const IoError& e) {
      const std::string text = e.what();
      return text.starts_with(front) ? text.substr(front.size()) : text;
    }
    return std::string("opened");
  };
  CHECK(complaint(good) == "opened");
  CHECK(complaint(R"("a": "model-1.safetensors", "c": "model-2.safetensors")") ==
        "tensor 'b' of " + one + " is not in the index");
  CHECK(complaint(good + R"(, "d": "model-2.safetensors")") == "tensor 'd' is not in " + two + ", as the index says");
  CHECK(complaint(R"("a": "model-2.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors")") ==
        "tensor 'a' is not in " + two + ", as the index says");
  CHECK(complaint(good + R"(, "d": "model-3.safetensors")") ==
        "SafetensorsFile: " + (folder / "model-3.safetensors") + ": cannot open: No such file or directory");
  CHECK_THAT(complaint(good + R"(, "d": "../x")"),
             Contains("tensor 'd' is in '../x', which is no name of a file beside the index"));
  CHECK_THAT(complaint(good + R"(, "c": "model-2.safetensors")"),
             Contains("index, byte") && Contains("duplicate key 'c'"));
  CHECK_THAT(complaint(R"("a": 1)"), Contains("expected '\"'"));
  save_safetensors(two, {{"a", matrix()}, {"c", matrix()}});
  CHECK(complaint(good) == "tensor 'a' is both in " + one + " and in " + two);

  write_file(index, R"({"weight_map": {}, "weight_map": {}})");
  REQUIRE_THROWS_WITH(SafetensorsFile(index), front + "index, byte 32: a second weight_map");
  write_file(index, R"({"a": "weight_map", "b": {"weight_map": 1}})");
  REQUIRE_THROWS_WITH(SafetensorsFile(index), Contains("no weight_map"));
  for (const std::string bad : {"[}", "[", "{\"x\":,", ",", "", "tru)", "\"", "[[]]]"}) {
    write_file(index, "{\"x\": " + bad + ", \"weight_map\": {}}");
    INFO(bad);
    if (bad == "{\"x\":,")
      CHECK_THROWS_AS(SafetensorsFile(index), IoError);
    else
      CHECK_THROWS_WITH(SafetensorsFile(index), Contains("index, byte"));
  }
  write_file(index, "{\"weight_map\": {}, \"x\": " + std::string(100'000, '['));  // any depth, no recursion
  REQUIRE_THROWS_WITH(SafetensorsFile(index), Contains("expected a value"));
}
