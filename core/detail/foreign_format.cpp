#include "tutti/core/detail/foreign_format.h"

#include <algorithm>
#include <cctype>

namespace tutti::detail {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view pytorch =
    "save its tensors in Python: safetensors.torch.save_file(torch.load(file, map_location=\"cpu\"), "
    "\"model.safetensors\"), for load_safetensors";

struct Signature {
  size_t at;
  std::string_view bytes, is;
};
constexpr Signature signatures[]{
    {0, "\x93NUMPY"sv, "a NumPy array (.npy): load_npy reads it"},
    {0, "\x1f\x8b"sv, "a gzip file: unpack it with gunzip"},
    {0, "BZh"sv, "a bzip2 file: unpack it with bunzip2"},
    {0, "\xfd\x37zXZ\0"sv, "an xz file: unpack it with unxz"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file: unpack it with unzstd"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive: unpack it"},
    {257, "ustar"sv, "a tar archive: unpack it with tar -xf"},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "an HDF5 file (.h5): save its arrays in Python, with safetensors.numpy.save_file or numpy.save"},
    {0, "MATLAB 5.0 MAT-file"sv,
     "a MATLAB file (.mat): save its arrays in Python, with scipy.io.loadmat and numpy.save"},
    {0, "GGUF"sv, "a GGUF model: load_safetensors needs the model's .safetensors file"},
    {0, "PAR1"sv, "a Parquet table: save it in Python as CSV, or its columns with numpy.save"},
    {0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Office file (.xls): export it as CSV"},
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG image"},
    {0, "\xff\xd8\xff"sv, "a JPEG image"},
    {0, "GIF8"sv, "a GIF image"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "\xff\xfe"sv, "text in UTF-16: convert it with iconv -f UTF-16 -t UTF-8"},
    {0, "\xfe\xff"sv, "text in UTF-16: convert it with iconv -f UTF-16 -t UTF-8"},
    {0, "version https://git-lfs.github.com/spec/"sv,
     "a Git LFS pointer, not the file itself: fetch that with git lfs pull"},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, "a PyTorch file from before version 1.6 (.pt): "},
};

/// By the name of the archive's first member, which stands in the first header.
std::string zip(std::string_view start) {
  const auto byte = [&](size_t i) { return i < start.size() ? static_cast<unsigned char>(start[i]) : size_t{0}; };
  const std::string_view first = start.substr(std::min<size_t>(30, start.size()), byte(26) | byte(27) << 8);
  if (first.ends_with("/data.pkl") || first.ends_with("/version") || first.ends_with("/.format_version"))
    return "a PyTorch file (.pt, .pth, .bin; a zip archive): " + std::string(pytorch);
  if (first.ends_with(".npy"))
    return "an archive of NumPy arrays (.npz; a zip archive): unpack it with unzip, load_npy reads what is inside";
  if (first == "[Content_Types].xml" || first.starts_with("xl/")) return "an Office file (.xlsx): export it as CSV";
  return "a zip archive: unpack it with unzip";
}

bool begins_as_html(std::string_view start) {
  std::string s(start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size())).substr(0, 9));
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s.starts_with("<!doctype") || s.starts_with("<html");
}

}  // namespace

std::string foreign_format(std::string_view start) {
  const auto byte = [&](size_t i) { return i < start.size() ? static_cast<unsigned char>(start[i]) : 0; };
  for (const Signature& s : signatures)
    if (start.size() >= s.at && start.substr(s.at).starts_with(s.bytes))
      return std::string(s.is) + (s.is.ends_with(": ") ? std::string(pytorch) : "");
  if (start.starts_with("PK\3\4"sv) || start.starts_with("PK\5\6"sv)) return zip(start);
  if (byte(0) == 0x80 && byte(1) >= 2 && byte(1) <= 5)
    return "a Python pickle: save its arrays in Python, with numpy.save or safetensors.numpy.save_file";
  if (byte(8) == '{' && byte(9) == '"' && byte(6) == 0 && byte(7) == 0)
    return "a safetensors file: load_safetensors reads it";
  if (start.size() >= 4 && byte(0) == 0 && byte(1) == 0 && byte(2) >= 0x08 && byte(2) <= 0x0e && byte(3) >= 1 &&
      byte(3) <= 8)
    return "an IDX file, as those of MNIST: data::read_idx reads it";
  if (begins_as_html(start)) return "a web page: what should have been downloaded is not in it";
  if (start.find("\"weight_map\"") != start.npos) return "JSON text, a model's index: load_safetensors reads it";
  if (byte(0) == '{' && start.find('"') != start.npos)
    return "JSON text; of a model that is its settings or its index, the weights are in .safetensors files";
  return {};
}

}  // namespace tutti::detail
