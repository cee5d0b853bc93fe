// IDX files, gzipped or not, and files that lie.
#include "tutti/nn/data/idx.h"

#include "support/files.h"
#include "support/gzip.h"

using namespace tutti;
using namespace tutti_test;
using namespace std::string_literals;

TEST_CASE("read_idx: all dtypes, gzipped or not") {
  const std::string bytes = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "\x01\x02\x03\x04\x05\xff"s;
  for (const std::string& content : {bytes, gzipped(bytes)}) {
    const File f("a.idx", content);
    const Tensor t = data::read_idx(f.path);
    CHECK(t.dtype() == DType::uint8);
    CHECK(t.shape() == Dims{2, 3});
    CHECK(t.to_vector<int64_t>() == std::vector<int64_t>{1, 2, 3, 4, 5, 255});
  }
  const File ints("i.idx", "\0\0\x0C\x01\0\0\0\x02\0\0\x01\x02\xff\xff\xff\xfe"s);
  CHECK(data::read_idx(ints.path).to_vector<int64_t>() == std::vector<int64_t>{258, -2});
  const File floats("f.idx", "\0\0\x0D\x01\0\0\0\x01\x3f\xc0\0\0"s);
  CHECK(data::read_idx(floats.path).item() == 1.5);
  const File doubles("d.idx", "\0\0\x0E\x01\0\0\0\x01\xc0\x04\0\0\0\0\0\0"s);
  CHECK(data::read_idx(doubles.path).item() == -2.5);
  const File empty("e.idx", "\0\0\x08\x03\xff\xff\xff\xff\0\0\0\0\0\0\0\x07"s);
  CHECK(data::read_idx(empty.path).numel() == 0);
}

TEST_CASE("read_idx: a file that lies is an error before anything large is allocated") {
  const auto fails = [](const std::string& bytes, const std::string& text) {
    for (const std::string& content : {bytes, gzipped(bytes)}) {
      const File f("bad.idx", content);
      REQUIRE_THROWS_WITH(data::read_idx(f.path), "read_idx: " + f.path + ": " + text);
    }
  };
  fails("", "is not an IDX file (it does not begin with two zero bytes)");
  fails("\0\0\x08"s, "is not an IDX file (it does not begin with two zero bytes)");
  fails("1,2\n", "is not an IDX file (it does not begin with two zero bytes)");
  fails("\x89PNG\r\n\x1a\n"s, "is not an IDX file but a PNG image");
  fails("\x93NUMPY\1\0"s, "is not an IDX file but a NumPy array (.npy): load_npy reads it");
  fails("PK\3\4"s, "is not an IDX file but a zip archive: unpack it with unzip");
  fails("\0\0\x07\x01\0\0\0\0"s,
        "IDX element type 7 is not supported (8: uint8, 12: int32, 13: float32, 14: float64 are)");
  fails("\0\0\x08\x00"s, "an IDX file of 0 axes; 1 to 8 are supported");
  fails("\0\0\x08\x09"s, "an IDX file of 9 axes; 1 to 8 are supported");
  fails("\0\0\x08\x02\0\0\0"s, "ends within its list of sizes");
  fails("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
        "claims shape [4294967295, 4294967295, 4294967295] of uint8, more than the file can hold");
  fails("\0\0\x08\x03\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff"s,
        "claims shape [4294967295, 0, 4294967295] of uint8, more than the file can hold");
  fails("\0\0\x0E\x02\xff\xff\xff\xff\x40\0\0\0"s,
        "claims shape [4294967295, 1073741824] of float64, more than the file can hold");
  fails("\0\0\x08\x01\0\0\0\x02\x01\x02\x03"s, "has more data than the 2 bytes of shape [2] of uint8");
  const std::string truncated = "\0\0\x08\x01\0\0\0\x09\x01\x02"s;
  const File compressed("t.idx", gzipped(truncated)), plain("p.idx", "\0\0\x08\x01\0\0\0\x09\x01\x02"s);
  REQUIRE_THROWS_WITH(data::read_idx(compressed.path),
                      "read_idx: " + compressed.path + ": shape [9] of uint8 needs 9 bytes of data, but there are 2");
  REQUIRE_THROWS_AS(data::read_idx(plain.path), IoError);
  const std::string whole = gzipped("\0\0\x08\x01\0\0\0\x09"s + "123456789"s);
  const File cut("c.idx", whole.substr(0, whole.size() - 9));
  REQUIRE_THROWS_AS(data::read_idx(cut.path), IoError);
  REQUIRE_THROWS_WITH(data::read_idx("/nonexistent/x"),
                      "read_idx: /nonexistent/x: cannot open: No such file or directory");
  REQUIRE_THROWS_WITH(data::read_idx("/tmp"), "read_idx: /tmp: is a directory, not a regular file");
}
