// Writing: through links, never over what is no file, with the old mode, owner and names, and whole or not at all.
#include "tutti/core/output_file.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>

#include "support/files.h"
#include "tutti/core/npy.h"
#include "tutti/core/safetensors.h"

using namespace tutti;
using tutti_test::read_file;
using tutti_test::TemporaryFolder;
using tutti_test::write_file;
namespace fs = std::filesystem;

namespace {

void save(const std::string& path, const std::string& text) {
  OutputFile file("save", path);
  file.write(text);
  file.commit();
}

/// The error of a save, without the path.
std::string complaint(const std::string& path, const std::string& text = "new") {
  try {
    save(path, text);
  } catch (const IoError& e) {
    const std::string what = e.what(), front = "save: " + path + ": ";
    return what.starts_with(front) ? what.substr(front.size()) : what;
  }
  return "saved";
}

struct stat status(const std::string& path) {
  struct stat s {};
  REQUIRE(lstat(path.c_str(), &s) == 0);
  return s;
}
mode_t mode(const std::string& path) { return status(path).st_mode & 07777; }

/// Root may do everything: what is forbidden is tried as another user.
struct AsNobody {
  static constexpr uid_t id = 65534;
  bool changed = geteuid() == 0;
  AsNobody() {
    if (changed) changed = seteuid(id) == 0;
  }
  ~AsNobody() {
    if (changed && seteuid(0) != 0) std::abort();
  }
};
/// Whether another user gets as far as this folder. Not where a folder above it is root's alone, as the root of a
/// chroot made by mktemp is.
bool others_reach(const std::string& folder) {
  const AsNobody other;
  struct stat s;
  if (stat(folder.c_str(), &s) == 0) return true;
  WARN("skipped: other users do not reach " << folder);
  return false;
}

/// No file may grow beyond so many bytes: a full disk, for this process alone.
struct FileSizeLimit {
  rlimit before{};
  void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit now{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }
};

}  // namespace

TEST_CASE("output file: what is no regular file is refused and left as it is, by every writer") {
  const TemporaryFolder folder;
  const std::string fifo = folder / "fifo", directory = folder / "directory", device = folder / "device",
                    link = folder / "link", socket_path = folder / "socket";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_directory(directory);
  fs::create_symlink("fifo", link);
  const int s = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(socket_path.size() < sizeof address.sun_path);
  std::strcpy(address.sun_path, socket_path.c_str());
  REQUIRE(bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  close(s);
  std::vector<std::pair<std::string, std::string>> others{{fifo, "a FIFO (a pipe)"},
                                                          {link, "a FIFO (a pipe)"},
                                                          {directory, "a directory"},
                                                          {directory + "/", "a directory"},
                                                          {socket_path, "a socket"}};
  // A node of one's own: a fault must not cost the machine its /dev/full.
  if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0) others.emplace_back(device, "a character device");
  const size_t files = folder.files();
  const Tensor x = Tensor::from({1, 2}, {2});
  for (const auto& [path, kind] : others) {
    const struct stat before = status(path);
    const std::string text = path + ": is " + kind + ", not a regular file; nothing is written";
    CHECK("save: " + path + ": " + complaint(path) == "save: " + text);
    REQUIRE_THROWS_WITH(save_npy(path, x), "save_npy: " + text);
    REQUIRE_THROWS_WITH(save_safetensors(path, {{"x", x}}), "save_safetensors: " + text);
    CHECK(status(path).st_mode == before.st_mode);
    CHECK(status(path).st_ino == before.st_ino);
  }
  CHECK(folder.files() == files);
}

TEST_CASE("output file: symbolic links are written through, whether their target is there or not") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "runs/1");
  write_file(folder / "runs/1/best", "old");
  fs::create_symlink("1", folder / "runs/latest");
  fs::create_symlink("runs/latest/best", folder / "relative");
  fs::create_symlink(folder / "relative", folder / "absolute");
  fs::create_symlink("runs/1/still to come", folder / "dangling");
  fs::create_symlink("dangling", folder / "dangling twice");
  save(folder / "absolute", "new");
  CHECK(read_file(folder / "runs/1/best") == "new");
  CHECK(fs::is_symlink(folder / "absolute"));
  CHECK(fs::is_symlink(folder / "relative"));
  save(folder / "dangling twice", "made");
  CHECK(fs::is_symlink(folder / "dangling twice"));
  CHECK(fs::is_symlink(folder / "dangling"));
  CHECK(read_file(folder / "runs/1/still to come") == "made");
  save_npy(folder / "dangling", Tensor::from({1}, {1}));
  CHECK(load_npy(folder / "runs/1/still to come").item() == 1);
  save_safetensors(folder / "relative", {{"x", Tensor::from({1}, {1})}});
  CHECK(load_safetensors(folder / "runs/1/best").at("x").item() == 1);

  fs::create_symlink("circle", folder / "circle");
  CHECK(complaint(folder / "circle") == "cannot write: Too many levels of symbolic links");
  fs::create_symlink("nowhere/x", folder / "lost");
  CHECK(complaint(folder / "lost") ==
        "cannot create a file in " + (folder / "nowhere/") + ": No such file or directory");
}

TEST_CASE("output file: mode and owner are kept, and a new file honours the umask") {
  const TemporaryFolder folder;
  const std::string path = folder / "x", fresh = folder / "fresh";
  for (const mode_t m : {0600, 0640, 0755, 0666}) {
    write_file(path, "old");
    REQUIRE(chmod(path.c_str(), m) == 0);
    save(path, "new");
    CHECK(mode(path) == m);
    CHECK(read_file(path) == "new");
  }
  const mode_t before = umask(027);
  save(fresh, "x");
  umask(before);
  CHECK(mode(fresh) == 0640);
  if (chown(path.c_str(), 12345, 54321) == 0) {
    save(path, "owned");
    CHECK(status(path).st_uid == 12345);
    CHECK(status(path).st_gid == 54321);
    CHECK(mode(path) == 0666);
    CHECK(read_file(path) == "owned");
  }
}

TEST_CASE("output file: private contents are private from the first byte") {
  const TemporaryFolder folder;
  write_file(folder / "x", "old");
  REQUIRE(chmod((folder / "x").c_str(), 0600) == 0);
  OutputFile file("save", folder / "x");
  for (const auto& entry : fs::directory_iterator(folder / "")) CHECK(mode(entry.path()) == 0600);
  CHECK(folder.files() == 2);
}

TEST_CASE("output file: hard links see the new contents") {
  const TemporaryFolder folder;
  const std::string path = folder / "x", other = folder / "other";
  write_file(path, "the old contents");
  fs::create_hard_link(path, other);
  for (const std::string text : {"short", "much longer than the old contents were", ""}) {
    save(path, text);
    CHECK(read_file(path) == text);
    CHECK(read_file(other) == text);
    CHECK(status(path).st_ino == status(other).st_ino);
    CHECK(folder.files() == 2);
  }
}

TEST_CASE("output file: of another owner whom this user cannot give files to") {
  if (geteuid() != 0) {
    WARN("skipped: needs root");
    return;
  }
  const TemporaryFolder folder;
  if (!others_reach(folder / "")) return;
  const std::string path = folder / "x";
  write_file(path, "old");
  REQUIRE(chmod(path.c_str(), 0666) == 0);
  REQUIRE(chmod((folder / "").c_str(), 0777) == 0);
  {
    const AsNobody other;
    save(path, "new");
  }
  CHECK(read_file(path) == "new");
  CHECK(status(path).st_uid == 0);
  CHECK(mode(path) == 0666);
  CHECK(folder.files() == 1);
}

TEST_CASE("output file: what is forbidden or impossible is said, and nothing changes") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  REQUIRE(chmod(path.c_str(), 0444) == 0);
  if (others_reach(folder / "")) {
    const AsNobody other;
    CHECK(complaint(path) == "cannot write: Permission denied");
    CHECK(complaint(folder / "y") == "cannot create a file in " + (folder / "") + ": Permission denied");
  }
  CHECK(complaint(path + "/y") == "cannot write: Not a directory");
  CHECK(complaint(folder / "no/such/y") ==
        "cannot create a file in " + (folder / "no/such/") + ": No such file or directory");
  CHECK(complaint(folder / "no/") == "not the name of a file");
  CHECK(complaint("") == "not the name of a file");
  const std::string zero = path + std::string("\0.bak", 5), text = path + "\\x00.bak: a zero byte in the file's name";
  REQUIRE_THROWS_WITH(save(zero, ""), "save: " + text);
  REQUIRE_THROWS_WITH(load_npy(zero), "load_npy: " + text);
  CHECK(read_file(path) == "old");
  CHECK(folder.files() == 1);
  save(folder / std::string(255, 'n'), "the longest name");
  CHECK(read_file(folder / std::string(255, 'n')) == "the longest name");
}

TEST_CASE("output file: a full disk leaves the old file, under all its names") {
  const TemporaryFolder folder;
  const std::string path = folder / "x", other = folder / "other";
  write_file(path, "old");
  const std::string large(100000, 'x');
  const auto check = [&](size_t files) {
    {
      const FileSizeLimit limit(50000);
      CHECK(complaint(path, large) == "cannot write: File too large");
      REQUIRE_THROWS_AS(save_npy(path, Tensor::from(std::vector<float>(20000), {20000})), IoError);
      REQUIRE_THROWS_AS(save_safetensors(path, {{"x", Tensor::from(std::vector<float>(20000), {20000})}}), IoError);
    }
    CHECK(read_file(path) == "old");
    CHECK(folder.files() == files);
  };
  check(1);
  fs::create_hard_link(path, other);
  check(2);
  {
    OutputFile file("save", path);
    file.write(large);
    const FileSizeLimit limit(50000);  // the disk fills up only now
    REQUIRE_THROWS_WITH(file.commit(), "save: " + path + ": cannot write: File too large");
  }
  CHECK(read_file(path) == "old");
  CHECK(read_file(other) == "old");
  CHECK(folder.files() == 2);
}
