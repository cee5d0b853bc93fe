// .npy files: round trips, files as NumPy writes them, and every kind of damage.
#include "tutti/core/npy.h"

#include "support/files.h"
#include "tutti/autograd/with_grad.h"

using namespace tutti;
using tutti_test::read_file;
using tutti_test::TemporaryFolder;
using tutti_test::write_file;

namespace {

std::string file_bytes(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  for (size_t i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

/// What load_npy says about this file, without the path.
std::string complaint(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  write_file(path, bytes);
  try {
    load_npy(path);
  } catch (const IoError& e) {
    const std::string text = e.what(), front = "load_npy: " + path + ": ";
    return text.starts_with(front) ? text.substr(front.size()) : text;
  }
  return "loaded";
}

}  // namespace

TEST_CASE("npy: what is saved is loaded") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  const Tensor matrix = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  for (const Tensor& x : {matrix, no_gradient(view(matrix, {3, 2}, {1, 3}, 0)), Tensor::from({0.1}, {}, DType::float64),
                          Tensor::from({1.5, -2, 3}, {3}, DType::float16), Tensor::from({-1}, {1}, DType::int64),
                          Tensor::from({-7, 7}, {1, 2, 1}, DType::int32), Tensor::from({200}, {1}, DType::uint8),
                          Tensor::from({1, 0, 1}, {3}, DType::boolean), Tensor::from({}, {0, 4})}) {
    save_npy(path, x);
    const Tensor got = load_npy(path);
    CHECK(got.dtype() == x.dtype());
    CHECK(got.shape() == x.shape());
    CHECK(got.to_vector<double>() == x.to_vector<double>());
  }
  CHECK(folder.files() == 1);
  REQUIRE_THROWS_AS(save_npy(path, Tensor::from({1}, {1}, DType::bfloat16)), DTypeError);
  REQUIRE_THROWS_WITH(save_npy(path, Tensor::from({1}, {1}, DType::bfloat16)), "save_npy: NumPy has no bfloat16");
  REQUIRE_THROWS_AS(save_npy(path, Tensor()), ValueError);
  REQUIRE_THROWS_AS(save_npy(folder / "no/such/folder", matrix), IoError);
}

TEST_CASE("npy: the bytes are NumPy's") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  save_npy(path, Tensor::from({1, -2}, {2}));
  // numpy.save(path, numpy.array([1, -2], dtype=numpy.float32))
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::string expected =
      file_bytes(header + std::string(117 - header.size(), ' ') + "\n", std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  CHECK(read_file(path) == expected);
}

TEST_CASE("npy: Fortran order, other versions and other spellings") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  const auto load = [&](const std::string& header, const std::string& data, char version = 1) {
    write_file(path, file_bytes(header, data, version));
    return load_npy(path);
  };
  const std::string six("\1\2\3\4\5\6");
  const Tensor f = load("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", six);
  CHECK(f.shape() == Dims{2, 3});
  CHECK(f.is_contiguous());
  CHECK(f.to_vector<int64_t>() == std::vector<int64_t>{1, 3, 5, 2, 4, 6});
  CHECK(load("{'shape': (1,2,3,), \"descr\": '|u1', 'fortran_order':True}", six, 2).to_vector<int64_t>() ==
        std::vector<int64_t>{1, 3, 5, 2, 4, 6});
  CHECK(load("{'descr': '|u1', 'fortran_order': True, 'shape': (6,), }", six, 3).to_vector<int64_t>() ==
        std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(load("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\1").item() == 1);
}

TEST_CASE("npy: files that are refused") {
  const auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  };
  const std::string good = header("<f4", "(2,)"), data(8, '\0');
  CHECK(complaint(file_bytes(good, data)) == "loaded");
  CHECK(complaint("") == "not a .npy file");
  CHECK(complaint("not an array at all") == "not a .npy file");
  CHECK(complaint("PK\3\4 this is a zip file") == "not a .npy file but a zip archive: unpack it with unzip");
  CHECK(complaint(file_bytes("{'\xff\n': 3}", data)) == R"(header: unknown or repeated key '\xff\x0a')");
  CHECK(complaint(file_bytes(good, data, 4)) == "version 4.0 is unknown");
  CHECK(complaint(file_bytes(good, data).substr(0, 30)) == "header of 57 bytes in a file of 30");
  CHECK(complaint(file_bytes(good, data, 2).substr(0, 11)) == "ends inside the header");
  CHECK(complaint(file_bytes(good, data.substr(1))) == "shape [2] of float32 needs 8 bytes, there are 7");
  CHECK(complaint(file_bytes(good, data + "x")) == "shape [2] of float32 needs 8 bytes, there are 9");
  CHECK(complaint(file_bytes(header(">f4", "(2,)"), data)) == "dtype '>f4' is not supported");
  CHECK(complaint(file_bytes(header("|O", "(2,)"), data)) == "dtype '|O' is not supported");
  CHECK(complaint(file_bytes(header("<f4", "(-2,)"), data)) == "header: expected a size that is not negative");
  CHECK(complaint(file_bytes(header("<f4", "(2)"), data)) == "header: expected ','");
  CHECK(complaint(file_bytes(header("<f4", "(4611686018427387904, 2)"), data)) ==
        "shape [4611686018427387904, 2] is too large");
  CHECK(complaint(file_bytes(header("<f4", "(99999999999999999999,)"), data)) == "header: a size is too large");
  CHECK(complaint(file_bytes(header("<f4", "(1,1,1,1,1,1,1,1,2)"), data)) == "header: more than 8 dimensions");
  CHECK(complaint(file_bytes(header("|b1", "(1,)"), "\2")) == "a bool that is neither 0 nor 1");
  CHECK(complaint(file_bytes("", data)) == "header: expected '{'");
  CHECK(complaint(file_bytes("{}", data)) == "header: descr, fortran_order and shape are needed");
  CHECK(complaint(file_bytes("{'descr': '<f4', 'descr': '<f4'}", data)) == "header: unknown or repeated key 'descr'");
  CHECK(complaint(file_bytes("{'colour': 3}", data)) == "header: unknown or repeated key 'colour'");
  CHECK(complaint(file_bytes("{'descr: 3}", data)) == "header: expected a string");
  CHECK(complaint(file_bytes("{'fortran_order': 1}", data)) == "header: expected 'False'");
  CHECK(complaint(file_bytes(good + "x", data)) == "header: more text after the closing brace");
}

TEST_CASE("npy: damaged files are refused or read, and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  save_npy(path, Tensor::from({1, 2, 3, 4}, {2, 2}));
  const std::string good = read_file(path);
  tutti_test::fuzz_reader(path, good, [&] { load_npy(path); });
}
