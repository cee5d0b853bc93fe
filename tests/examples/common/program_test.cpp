// What the programs share: their files are written as the library's are.
#include "common/program.h"

#include <sys/stat.h>

#include "support/files.h"

TEST_CASE("write_file: through links, with the old mode, and never over what is no file", "[common]") {
  const tutti_test::TemporaryFolder folder;
  const std::string path = folder / "result.json", link = folder / "link", fifo = folder / "fifo";
  tutti_test::write_file(path, "old");
  REQUIRE(chmod(path.c_str(), 0600) == 0);
  std::filesystem::create_symlink("result.json", link);
  examples::write_file(link, "{}\n");
  REQUIRE(tutti_test::read_file(path) == "{}\n");
  REQUIRE(std::filesystem::is_symlink(link));
  struct stat s {};
  REQUIRE(stat(path.c_str(), &s) == 0);
  REQUIRE((s.st_mode & 07777) == 0600);
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  REQUIRE_THROWS_WITH(examples::write_file(fifo, "{}"),
                      "write: " + fifo + ": is a FIFO (a pipe), not a regular file; nothing is written");
  REQUIRE_THROWS_WITH(examples::write_file(folder / "no/x", ""), Contains("cannot create a file in "));
  REQUIRE(folder.files() == 3);
}
