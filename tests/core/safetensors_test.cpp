// safetensors files: round trips, every kind of damage, and writing that never leaves half a file.
#include "tutti/core/safetensors.h"

#include <sys/stat.h>

#include "support/files.h"
#include "tutti/autograd/with_grad.h"
#include "tutti/core/detail/safetensors_header.h"

using namespace tutti;
using tutti_test::read_file;
using tutti_test::TemporaryFolder;
using tutti_test::write_file;

namespace {

std::string file_bytes(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  for (size_t i = 0, n = header.size(); i < 8; ++i) bytes[i] = static_cast<char>(n >> (8 * i) & 0xff);
  return bytes + header + data;
}

/// What load_safetensors says about a file "x" with this header and so many bytes of data, without the path.
std::string complaint(const std::string& header, size_t data) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, file_bytes(header, std::string(data, '\1')));
  try {
    load_safetensors(path);
  } catch (const IoError& e) {
    const std::string text = e.what(), front = "load_safetensors: " + path + ": ";
    return text.starts_with(front) ? text.substr(front.size()) : text;
  }
  return "loaded";
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

}  // namespace

TEST_CASE("safetensors: what is saved is loaded") {
  const TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  const Tensor matrix = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  const std::map<std::string, Tensor> tensors{
      {"float32", matrix},
      {"transposed", no_gradient(view(matrix, {3, 2}, {1, 3}, 0))},
      {"float64", Tensor::from({0.1}, {1, 1}, DType::float64)},
      {"bfloat16", Tensor::from({1.5, -2}, {2}, DType::bfloat16)},
      {"float16", Tensor::from({1.5, -2, 3}, {3}, DType::float16)},
      {"int64", Tensor::from({-1}, {}, DType::int64)},
      {"int32", Tensor::from({-7}, {1}, DType::int32)},
      {"uint8", Tensor::from({200}, {1}, DType::uint8)},
      {"bool", Tensor::from({1, 0, 1}, {3}, DType::boolean)},
      {"empty", Tensor::from({}, {0, 4})},
      {"", Tensor::from({1}, {1})},
      {"a \"quoted\"\\name\n\x01 Größe 日本", Tensor::from({2}, {1})},
  };
  const std::map<std::string, std::string> metadata{{"format", "tutti"}, {"note", "tab\tquote\""}};
  save_safetensors(path, tensors, metadata);
  const auto loaded = load_safetensors(path);
  REQUIRE(loaded.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    const Tensor& got = loaded.at(name);
    CHECK(got.dtype() == tensor.dtype());
    CHECK(got.shape() == tensor.shape());
    CHECK(got.is_contiguous());
    CHECK(got.to_vector<double>() == tensor.to_vector<double>());
  }
  CHECK(load_safetensors_metadata(path) == metadata);
  CHECK(folder.files() == 1);

  const std::string bytes = read_file(path);
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  CHECK(length % 8 == 0);  // so that the data is aligned

  save_safetensors(path, {});
  CHECK(load_safetensors(path).empty());
  CHECK(load_safetensors_metadata(path).empty());
}

TEST_CASE("safetensors: a file as the reference implementation writes it") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, file_bytes(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                              R"("a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}    )",
                              std::string("\0\0\x80\x3f\0\0\0\xc0\1\2\3", 11)));
  const auto loaded = load_safetensors(path);
  CHECK(loaded.at("a").to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3});
  CHECK(loaded.at("b").to_vector<float>() == std::vector<float>{1, -2});
  // White space, other orders of fields, and escapes.
  write_file(path,
             file_bytes("\n{ \"\\u0061\\u00e9\\ud83d\\ude00\\/\" : { \"data_offsets\" : [ 0 , 1 ] ,\t\"shape\":[ ],"
                        "\"dtype\":\"BOOL\"} , \"__metadata__\":{\"k\":\"v\"}\r\n}",
                        "\1"));
  CHECK(load_safetensors(path).at("aé😀/").item() == 1);
  CHECK(load_safetensors_metadata(path).at("k") == "v");
}

TEST_CASE("safetensors: a header that does not fit the file") {
  const TemporaryFolder folder;
  const std::string path = folder / "x", front = "load_safetensors: " + path + ": ";
  REQUIRE_THROWS_AS(load_safetensors(path), IoError);
  REQUIRE_THROWS_WITH(load_safetensors(path), front + "cannot open: No such file or directory");
  write_file(path, "");
  REQUIRE_THROWS_WITH(load_safetensors(path), front + "too short for a header (0 bytes)");
  write_file(path, std::string("\3\0\0\0\0\0\0\0{}", 10));
  REQUIRE_THROWS_WITH(load_safetensors(path), front + "header of 3 bytes in a file of 10");
  write_file(path, std::string(8, '\xff') + "{}");
  REQUIRE_THROWS_WITH(load_safetensors(path), front + "header of 18446744073709551615 bytes in a file of 10");
  const std::string directory = folder / "";
  REQUIRE_THROWS_WITH(load_safetensors(directory),
                      "load_safetensors: " + directory + ": is a directory, not a regular file");
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE_THROWS_WITH(load_safetensors(pipe), Contains(": is a FIFO (a pipe), not a regular file"));
}

TEST_CASE("safetensors: data that does not fit the header") {
  const std::string good = entry("F32", "[2]", "[0,8]");
  CHECK(complaint("{\"w\":" + good + "}", 8) == "loaded");
  CHECK(complaint("{\"w\":" + good + "}", 7) == "tensor 'w': bytes 0 to 8 of only 7");
  CHECK(complaint("{\"w\":" + good + "}", 9) == "1 bytes belong to no tensor");
  CHECK(complaint("{}", 1) == "1 bytes belong to no tensor");
  CHECK(complaint("{\"w\":" + entry("F32", "[2]", "[4,12]") + "}", 12) ==
        "tensor 'w': begins at byte 4, not at the end of the one before it at 0");
  CHECK(complaint("{\"v\":" + good + ",\"w\":" + entry("F32", "[2]", "[4,12]") + "}", 12) ==
        "tensor 'w': begins at byte 4, inside the end of the one before it at 8");
  CHECK(complaint("{\"v\":" + good + ",\"w\":" + entry("F32", "[2]", "[12,20]") + "}", 20) ==
        "tensor 'w': begins at byte 12, not at the end of the one before it at 8");
  CHECK(complaint("{\"w\":" + entry("F32", "[2]", "[0,7]") + "}", 8) ==
        "tensor 'w': bytes 0 to 7 do not hold shape [2] of F32 (8 bytes)");
  CHECK(complaint("{\"w\":" + entry("F32", "[2]", "[8,0]") + "}", 8) ==
        "tensor 'w': bytes 8 to 0 do not hold shape [2] of F32 (8 bytes)");
  CHECK(complaint("{\"w\":" + entry("F99", "[2]", "[0,8]") + "}", 8) == "tensor 'w': unknown dtype 'F99'");
  CHECK(complaint("{\"w\":" + entry("F32", "[4611686018427387904,4611686018427387904]", "[0,8]") + "}", 8) ==
        "tensor 'w': shape [4611686018427387904, 4611686018427387904] is too large");
  CHECK(complaint("{\"w\":" + entry("F32", "[0,9223372036854775807,3]", "[0,0]") + "}", 0) ==
        "tensor 'w': shape [0, 9223372036854775807, 3] is too large");
  CHECK(complaint("{\"w\":" + entry("F32", "[9223372036854775808]", "[0,8]") + "}", 8) ==
        "header, byte 49: tensor 'w': size 9223372036854775808 is too large");
  CHECK(complaint("{\"w\":" + entry("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4) ==
        "tensor 'w': 9 dimensions, at most 8 are possible");
  CHECK(complaint("{\"w\":" + entry("BOOL", "[1]", "[0,1]") + "}", 1) == "loaded");
  const TemporaryFolder folder;
  write_file(folder / "x", file_bytes("{\"w\":" + entry("BOOL", "[1]", "[0,1]") + "}", "\2"));
  REQUIRE_THROWS_WITH(load_safetensors(folder / "x"), Contains("tensor 'w': a bool that is neither 0 nor 1"));
}

TEST_CASE("safetensors: a header that is not one") {
  const std::string good = entry("U8", "[1]", "[0,1]");
  CHECK(complaint("", 1) == "header, byte 0: expected '{'");
  CHECK(complaint("[]", 1) == "header, byte 0: expected '{'");
  CHECK(complaint("{} x", 0) == "header, byte 3: more text after the closing brace");
  CHECK(complaint("{\"w\":" + good, 1) == "header, byte 52: expected '}'");
  CHECK(complaint("{\"w\":" + good + ",}", 1) == "header, byte 53: expected '\"'");
  CHECK(complaint("{\"w\":" + good + ",\"w\":" + good + "}", 1) == "header, byte 57: duplicate key 'w'");
  CHECK(complaint(R"({"__metadata__":{},"__metadata__":{}})", 0) == "header, byte 34: duplicate key '__metadata__'");
  CHECK(complaint(R"({"__metadata__":{"a":"","a":""}})", 0) == "header, byte 30: duplicate metadata key 'a'");
  CHECK(complaint(R"({"__metadata__":{"a":1}})", 0) == "header, byte 21: expected '\"'");
  CHECK(complaint(R"({"w":{}})", 0) == "header, byte 7: tensor 'w': dtype, shape and data_offsets are needed");
  CHECK(complaint(R"({"w":{"dtype":"U8","dtype":"U8"}})", 0) == "header, byte 27: tensor 'w': a field is given twice");
  CHECK(complaint(R"({"w":{"size":1}})", 0) == "header, byte 13: tensor 'w': unknown field 'size'");
  CHECK(complaint("{\"w\":" + entry("U8", "[-1]", "[0,1]") + "}", 1) ==
        "header, byte 28: expected a number that is not negative");
  CHECK(complaint("{\"w\":" + entry("U8", "[1.5]", "[0,1]") + "}", 1) == "header, byte 29: expected ']'");
  CHECK(complaint("{\"w\":" + entry("U8", "[01]", "[0,1]") + "}", 1) == "header, byte 30: a number begins with 0");
  CHECK(complaint("{\"w\":" + entry("U8", "[99999999999999999999]", "[0,1]") + "}", 1) ==
        "header, byte 48: a number is too large");
  CHECK(complaint("{\"w\":" + entry("U8", "[1]", "[0,1,2]") + "}", 1) ==
        "header, byte 53: tensor 'w': data_offsets needs two numbers");
  CHECK(complaint("{\"w\xff\":" + good + "}", 1) == "header, byte 3: not UTF-8");
  CHECK(complaint("{\"__metadata__\":{\"\xc0\xaf\":\"\"}}", 0) == "header, byte 18: not UTF-8");       // overlong
  CHECK(complaint("{\"__metadata__\":{\"k\":\"\xed\xa0\x80\"}}", 0) == "header, byte 22: not UTF-8");  // a surrogate
  CHECK(complaint(R"({"a\u0007\n":{"size":1}})", 0) == R"(header, byte 21: tensor 'a\x07\x0a': unknown field 'size')");
  CHECK(complaint("{\"w", 0) == "header, byte 3: a string without end");
  CHECK(complaint("{\"w\n\":1}", 0) == "header, byte 4: a control character in a string");
  CHECK(complaint(R"({"\x":1})", 0) == "header, byte 4: an unknown escape in a string");
  CHECK(complaint(R"({"\u12g4":1})", 0) == "header, byte 7: an unknown escape in a string");
  CHECK(complaint(R"({"\ud800":1})", 0) == "header, byte 8: half a surrogate pair in a string");
  CHECK(complaint(R"({"\udc00":1})", 0) == "header, byte 8: half a surrogate pair in a string");
  CHECK(complaint(R"({"\ud800\u0041":1})", 0) == "header, byte 14: half a surrogate pair in a string");
  // Nesting of any depth is a short error, not a deep recursion.
  std::string deep = "{";
  for (int i = 0; i < 100000; ++i) deep += "\"a\":{";
  CHECK(complaint(deep, 0) == "header, byte 10: tensor 'a': unknown field 'a'");
}

TEST_CASE("safetensors: damaged files are refused or read, and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  save_safetensors(path, {{"w", Tensor::from({1, 2, 3, 4}, {2, 2})}, {"b", Tensor::from({1}, {1}, DType::boolean)}},
                   {{"k", "v"}});
  tutti_test::fuzz_reader(path, read_file(path), [&] { load_safetensors(path); });
}

TEST_CASE("safetensors: names and metadata that are not UTF-8 are not written") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const Tensor w = Tensor::from({1, 2}, {2});
  REQUIRE_THROWS_AS(save_safetensors(path, {{"w\xff", w}}), ValueError);
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"w\xff", w}}),
                      R"(save_safetensors: the name 'w\xff' is not UTF-8 (byte 1))");
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"caf\xe9", w}}),  // Latin-1
                      R"(save_safetensors: the name 'caf\xe9' is not UTF-8 (byte 3))");
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"w", w}}, {{"\xf5", ""}}),
                      R"(save_safetensors: the metadata's key '\xf5' is not UTF-8 (byte 0))");
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"w", w}}, {{"k", "\xed\xa0\x80"}}),
                      R"(save_safetensors: the metadata's value '\xed\xa0\x80' is not UTF-8 (byte 0))");
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"w", w}}, {{"k", std::string(100'000'000, 'x')}}),
                      Contains("save_safetensors: names and metadata take 1000000") &&
                          Contains("bytes; at most 100000000 can be read again"));
  CHECK(folder.files() == 0);
  const std::string rare("\0\x7f\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 21);
  save_safetensors(path, {{rare, w}}, {{rare, rare}});
  CHECK(load_safetensors(path).count(rare) == 1);
  CHECK(load_safetensors_metadata(path).at(rare) == rare);
}

TEST_CASE("safetensors: a failed save leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const Tensor w = Tensor::from({1, 2}, {2});
  save_safetensors(path, {{"w", w}});
  REQUIRE_THROWS_AS(save_safetensors(path, {{"w", w}, {"u", Tensor()}}), ValueError);
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"w", w}, {"u", Tensor()}}), "save_safetensors: tensor 'u' is undefined");
  REQUIRE_THROWS_WITH(save_safetensors(path, {{"__metadata__", w}}),
                      "save_safetensors: a tensor cannot be called '__metadata__'");
  CHECK(load_safetensors(path).size() == 1);
  CHECK(folder.files() == 1);
  const std::string nowhere = folder / "no/such/folder";
  REQUIRE_THROWS_AS(save_safetensors(nowhere, {}), IoError);
  REQUIRE_THROWS_WITH(save_safetensors(nowhere, {}), "save_safetensors: " + nowhere + ": cannot create a file in " +
                                                         folder / "no/such/" + ": No such file or directory");
  const std::string directory = folder / "directory";
  std::filesystem::create_directory(directory);
  REQUIRE_THROWS_WITH(save_safetensors(directory, {}),
                      Contains(": is a directory, not a regular file; nothing is written"));
  CHECK(folder.files() == 2);
}
