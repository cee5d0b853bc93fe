// A file of another format is called by its name, and the error says what to do with it.
#include "tutti/core/detail/foreign_format.h"

#include "support/files.h"
#include "tutti/core/npy.h"
#include "tutti/core/safetensors.h"

using namespace std::string_literals;
using namespace tutti;
using tutti_test::TemporaryFolder;
using tutti_test::write_file;

namespace {

/// The first header of a zip archive, and what may follow.
std::string zip(const std::string& first) {
  std::string s = "PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s;
  s += static_cast<char>(first.size());
  s += "\0\0\0"s;
  return s + first + std::string(400, '\x42');
}

}  // namespace

TEST_CASE("foreign formats: the readers of tensors say what they were given") {
  const TemporaryFolder folder;
  const std::string path = folder / "model.bin";
  const std::string convert =
      "save its tensors in Python: safetensors.torch.save_file(torch.load(file, map_location=\"cpu\"), "
      "\"model.safetensors\"), for load_safetensors";
  const std::string rest(600, '\x42');
  const std::vector<std::pair<std::string, std::string>> files{
      {zip("archive/data.pkl"), "a PyTorch file (.pt, .pth, .bin; a zip archive): " + convert},
      {zip("resnet50/data.pkl"), "a PyTorch file (.pt, .pth, .bin; a zip archive): " + convert},
      {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03." + rest,
       "a PyTorch file from before version 1.6 (.pt): " + convert},
      {"\x80\x04\x95\x10\0\0\0\0\0\0\0}"s + rest,
       "a Python pickle: save its arrays in Python, with numpy.save or safetensors.numpy.save_file"},
      {zip("arr_0.npy"),
       "an archive of NumPy arrays (.npz; a zip archive): unpack it with unzip, load_npy reads what is inside"},
      {zip("[Content_Types].xml"), "an Office file (.xlsx): export it as CSV"},
      {zip("notes.txt"), "a zip archive: unpack it with unzip"},
      {"PK\5\6" + std::string(18, '\0'), "a zip archive: unpack it with unzip"},
      {"\x1f\x8b\x08\0\0\0\0\0\0\3"s + rest, "a gzip file: unpack it with gunzip"},
      {"\x1f\x8b\x08\0\0\0\0\0\0\3"s + std::string(600000, 'x'), "a gzip file: unpack it with gunzip"},
      {"\x89HDF\r\n\x1a\n" + rest,
       "an HDF5 file (.h5): save its arrays in Python, with safetensors.numpy.save_file or numpy.save"},
      {"GGUF\3\0\0\0"s + rest, "a GGUF model: load_safetensors needs the model's .safetensors file"},
      {std::string(257, 'n') + "ustar\0"s + rest, "a tar archive: unpack it with tar -xf"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
       "a Git LFS pointer, not the file itself: fetch that with git lfs pull"},
      {"\n<!DOCTYPE html><html>" + rest, "a web page: what should have been downloaded is not in it"},
      {"{\"architectures\": [\"BertModel\"]}",
       "JSON text; of a model that is its settings or its index, the weights are in .safetensors files"},
      {"\0\0\x08\x03\0\0\xea\x60\0\0\0\x1c\0\0\0\x1c"s + rest,
       "an IDX file, as those of MNIST: data::read_idx reads it"},
  };
  for (const auto& [bytes, is] : files) {
    write_file(path, bytes);
    INFO(is);
    REQUIRE_THROWS_AS(load_safetensors(path), IoError);
    REQUIRE_THROWS_WITH(load_safetensors(path), "load_safetensors: " + path + ": is no safetensors file but " + is);
    REQUIRE_THROWS_WITH(load_safetensors_metadata(path),
                        "load_safetensors: " + path + ": is no safetensors file but " + is);
    REQUIRE_THROWS_WITH(load_npy(path), "load_npy: " + path + ": not a .npy file but " + is);
  }
}

TEST_CASE("foreign formats: safetensors and npy, the one for the other, and damaged ones keep their own errors") {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const Tensor x = Tensor::from({1, 2}, {2});
  save_npy(path, x);
  REQUIRE_THROWS_WITH(
      load_safetensors(path),
      "load_safetensors: " + path + ": is no safetensors file but a NumPy array (.npy): load_npy reads it");
  write_file(path, "{\"metadata\": {}, \"weight_map\": {}}");
  REQUIRE_THROWS_WITH(
      load_npy(path),
      "load_npy: " + path + ": not a .npy file but JSON text, a model's index: load_safetensors reads it");
  save_safetensors(path, {{"x", x}});
  REQUIRE_THROWS_WITH(load_npy(path),
                      "load_npy: " + path + ": not a .npy file but a safetensors file: load_safetensors reads it");
  write_file(path, tutti_test::read_file(path).substr(0, 30));
  REQUIRE_THROWS_WITH(load_safetensors(path), "load_safetensors: " + path + ": header of 56 bytes in a file of 30");
  CHECK(detail::foreign_format("").empty());
  CHECK(detail::foreign_format("1,2\n3,4\n").empty());
  CHECK(detail::foreign_format(std::string(600, '\0')).empty());
}
