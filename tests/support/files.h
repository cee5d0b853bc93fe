// Files for tests: a folder that is removed at the end, and byte-wise writing, reading and damaging.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "tutti/core/error.h"

namespace tutti_test {

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("tutti_test_" + std::to_string(getpid()) + "_" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  size_t files() const {
    const std::filesystem::directory_iterator all(path_);
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // some file systems wait for the disk when an existing file is overwritten
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A file that is gone afterwards, in a folder of its own: tests run side by side in several processes.
struct File {
  TemporaryFolder folder;
  std::string path;
  File(const std::string& name, const std::string& bytes) : path(folder / name) { write_file(path, bytes); }
};

/// Reads every truncation and thousands of damaged copies of a good file: each must load or throw IoError, nothing
/// else.
inline void fuzz_reader(const std::string& path, const std::string& good, const std::function<void()>& load) {
  const auto attempt = [&](const std::string& bytes) {
    write_file(path, bytes);
    try {
      load();
      return true;
    } catch (const tutti::IoError&) {
      return false;
    }
  };
  REQUIRE(attempt(good));
  for (size_t n = 0; n < good.size(); ++n)
    if (attempt(good.substr(0, n))) FAIL_CHECK("loaded when cut to " << n << " bytes");
  std::mt19937 random(1);
  for (int k = 0; k < 4000; ++k) {
    std::string bad = good;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      char& byte = bad[random() % (random() % 2 ? bad.size() : std::min<size_t>(bad.size(), 16))];
      byte = static_cast<char>(random() % 3 ? byte ^ 1 << random() % 8 : random());
    }
    if (random() % 8 == 0) bad.insert(random() % bad.size(), random() % 20, static_cast<char>(random()));
    if (random() % 8 == 0) bad.erase(random() % bad.size(), random() % 20);
    attempt(bad);
  }
}

}  // namespace tutti_test
