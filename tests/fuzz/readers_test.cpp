// Any bytes through every reader: a tensor or a tutti::Error, and no more memory than the file's size explains. The
// seed is fixed; TUTTI_FUZZ=1000000 sets the number of inputs per reader.
#include <sys/mman.h>

#include <cstdlib>

#include "fuzz/heap.h"
#include "fuzz/mutate.h"
#include "support/files.h"
#include "support/gzip.h"
#include "tutti/core/detail/safetensors_header.h"
#include "tutti/core/detail/utf8.h"
#include "tutti/core/npy.h"
#include "tutti/core/safetensors.h"
#include "tutti/core/safetensors_file.h"
#include "tutti/nn/data/csv.h"
#include "tutti/nn/data/idx.h"

using namespace tutti;
using namespace std::string_literals;
using tutti_test::gzipped;

namespace {

/// A file without a folder, so that a million of them cost seconds.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) { REQUIRE(descriptor_ >= 0); }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void set(const std::string& bytes) const {
    const auto size = static_cast<off_t>(bytes.size());
    if (ftruncate(descriptor_, size) != 0 || pwrite(descriptor_, bytes.data(), bytes.size(), 0) != size)
      FAIL("no memory for a file");
  }

 private:
  int descriptor_;
};

size_t inputs() {
  const char* chosen = std::getenv("TUTTI_FUZZ");
  return chosen && *chosen ? std::strtoull(chosen, nullptr, 10) : 5000;
}

std::string hex(const std::string& s) {
  std::string t;
  for (const char c : s) t += "0123456789abcdef"[c >> 4 & 15], t += "0123456789abcdef"[c & 15];
  return t;
}

size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

using Read = void (*)(const std::string& path);

/// `packed`: what may come out of a byte (1032 from deflate). Whatever is read may be held several times over, and a
/// field of one character becomes an object: 64 bytes for each, and what the buffers take anyway.
void fuzz_reader(const std::vector<std::string>& valid, Read read, size_t packed = 1, bool zip = false) {
  fuzz::Mutator mutator(valid, 1);
  const MemoryFile file;
  size_t loaded = 0, refused = 0, worst = 0;
  const auto attempt = [&](const std::string& bytes) {
    file.set(bytes);
    const size_t tensors = memory::stats().current, heap = fuzz::heap_current();
    memory::reset_peak();
    fuzz::reset_heap_peak();
    try {
      read(file.path());
      ++loaded;
    } catch (const Error& e) {
      ++refused;
      const std::string what = e.what();
      if (detail::printable(what, what.size()) != what) FAIL("an error that cannot be printed, of " << hex(bytes));
    } catch (const std::exception& e) {
      FAIL("not a tutti::Error but " << e.what() << ", of " << hex(bytes));
    }
    const size_t taken = memory::stats().peak - tensors + fuzz::heap_peak() - heap;
    worst = std::max(worst, taken);
    if (taken > 300'000 + 64 * packed * bytes.size())
      FAIL("took " << taken << " bytes for a file of " << bytes.size() << ": " << hex(bytes));
    if (memory::stats().current != tensors) FAIL("kept a tensor, of " << hex(bytes));
  };
  for (const std::string& bytes : valid) {  // what is set up once, as an emulated device's recorder, is not the files'
    file.set(bytes);
    read(file.path());
  }
  for (const std::string& bytes : valid) attempt(bytes);
  REQUIRE(refused == 0);
  const size_t files = open_files(), n = inputs();
  for (size_t i = 0; i < n; ++i) attempt(zip ? gzipped(mutator.next()) : mutator.next());
  CHECK(open_files() == files);
  CHECK(loaded > n / 1000);
  CHECK(refused > n / 10);
  if (std::getenv("TUTTI_FUZZ"))
    WARN(n << " inputs: " << loaded << " read, " << refused << " refused; at most " << worst << " bytes taken");
}

/// The bytes that a writer writes.
template <class F>
std::string written(F&& write) {
  const tutti_test::TemporaryFolder folder;
  write(folder / "x");
  return tutti_test::read_file(folder / "x");
}

std::vector<std::string> idx_files() {
  return {"\0\0\x08\x01\0\0\0\x03\1\2\3"s,
          "\0\0\x0c\x02\0\0\0\1\0\0\0\2\0\0\0\1\xff\xff\xff\xff"s,
          "\0\0\x0d\x01\0\0\0\1\x3f\xc0\0\0"s,
          "\0\0\x0e\x01\0\0\0\1\xc0\4\0\0\0\0\0\0"s,
          "\0\0\x08\x03\0\0\0\2\0\0\0\3\0\0\0\4abcdefghijklmnopqrstuvwx"s,
          "\0\0\x08\x02\0\0\0\0\xff\xff\xff\xff"s};
}

std::vector<std::string> csv_files() {
  return {"1,2,3\n4,5,6\n", "a,b\n1.5,-2e3\n?,+4\n", "\xef\xbb\xbf\"1\", \"2\"\r\n3,4\r\n", "1e-400,.5\n\n0,7\n"};
}

std::vector<std::string> packed(std::vector<std::string> files) {
  for (std::string& f : files) f = gzipped(f);
  return files;
}

void read_csv(const std::string& path) {
  static unsigned turn = 0;  // every option in turn; valid files must be read with them
  switch (turn++ % 4) {
    case 0:
      data::read_csv(path, {.header = true, .allow_missing = true});
      break;
    case 1:
      data::read_csv_table(path, {.allow_missing = true, .na_values = {"?", "a", "b"}});
      break;
    case 2:
      data::read_csv_table(path, {.allow_missing = true, .categories = {{0, {}}, {-1, {}}}});
      break;
    default:
      data::read_csv_table(path, {.separator = data::whitespace, .allow_missing = true, .categories = {{0, {}}}});
  }
}

}  // namespace

TEST_CASE("fuzz: load_safetensors") {
  const Tensor w = Tensor::from({1, 2, 3, 4}, {2, 2}), b = Tensor::from({1, 0}, {2}, DType::boolean);
  fuzz_reader({written([&](const std::string& path) {
                 save_safetensors(path, {{"w", w}});
               }),
               written([&](const std::string& path) {
                 save_safetensors(path, {{"w", w}, {"b", b}, {"\"Größe\"\n", b}}, {{"format", "pt"}});
               }),
               written([](const std::string& path) { save_safetensors(path, {}); })},
              [](const std::string& path) {
                load_safetensors_metadata(path);
                const SafetensorsFile file(path);
                for (const std::string& name : file.names())
                  if (file.entry(name).readable) file.get(name);
                load_safetensors(path);
              });
}

TEST_CASE("fuzz: the index of a model in several files") {
  fuzz_reader(
      {R"({"weight_map":{}})", R"({"metadata":{"total_size":1.5e3,"a":[{"b":[null,true]},[]]},"weight_map":{}})"},
      [](const std::string& path) { SafetensorsFile file(path); });
  fuzz_reader({R"({"weight_map":{"a":"x-00001","\u00e9\n":"x-00002"}})", R"({"b":[],"weight_map":{"":" "},"c":"}"})"},
              [](const std::string& path) { detail::parse_safetensors_index("index", tutti_test::read_file(path)); });
}

TEST_CASE("fuzz: load_npy") {
  const auto fortran = [](std::string s) { return s.replace(s.find("False"), 5, "True "); };
  const auto npy = [](const Tensor& x) { return written([&](const std::string& path) { save_npy(path, x); }); };
  const std::string matrix = npy(Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}));
  fuzz_reader({matrix, fortran(matrix), npy(Tensor::from({1, 0, 1}, {3}, DType::boolean)),
               npy(Tensor::from({7}, {}, DType::uint8)), npy(Tensor::from({1, 2}, {1, 2, 1}, DType::float64))},
              [](const std::string& path) { load_npy(path); });
}

TEST_CASE("fuzz: read_idx") {
  fuzz_reader(idx_files(), [](const std::string& path) { data::read_idx(path); });
}
TEST_CASE("fuzz: read_idx of a damaged gzip file") {
  fuzz_reader(
      packed(idx_files()), [](const std::string& path) { data::read_idx(path); }, 1032);
}
TEST_CASE("fuzz: read_idx of a damaged file, gzipped") {
  fuzz_reader(
      idx_files(), [](const std::string& path) { data::read_idx(path); }, 1032, true);
}
TEST_CASE("fuzz: read_csv") { fuzz_reader(csv_files(), read_csv); }
TEST_CASE("fuzz: read_csv of a damaged gzip file") { fuzz_reader(packed(csv_files()), read_csv, 1032); }

TEST_CASE("fuzz: a small file that unpacks to a large one is read in proportion to what it holds") {
  const MemoryFile file;
  for (const std::string& bytes : {gzipped("\0\0\x08\x01\x01\0\0\0"s + std::string(1 << 24, '\0')),  // 16 MB of zeros
                                   gzipped("\0\0\x08\x01\xff\xff\xff\xff"s)}) {                      // claims 4 GB
    file.set(bytes);
    fuzz::reset_heap_peak();
    memory::reset_peak();
    const size_t before = fuzz::heap_current() + memory::stats().current;
    try {
      data::read_idx(file.path());
    } catch (const IoError&) {
    }
    CHECK(fuzz::heap_peak() + memory::stats().peak - before < 300'000 + 3 * 1032 * bytes.size());
  }
}
