#include "tutti/core/detail/safetensors_header.h"

#include <algorithm>
#include <array>
#include <set>

#include "tutti/core/detail/json_reader.h"
#include "tutti/core/detail/utf8.h"

namespace tutti::detail {
namespace {

struct Name {
  const char* text;
  DType dtype;
};
constexpr std::array<Name, 8> names{{{"F32", DType::float32},
                                     {"F64", DType::float64},
                                     {"BF16", DType::bfloat16},
                                     {"F16", DType::float16},
                                     {"I64", DType::int64},
                                     {"I32", DType::int32},
                                     {"U8", DType::uint8},
                                     {"BOOL", DType::boolean}}};

SafetensorsHeader::Entry entry(JsonReader& json, const std::string& name) {
  SafetensorsHeader::Entry e;
  e.name = name;
  unsigned found = 0;
  const auto once = [&](unsigned bit) {
    if (found & bit) json.fail("tensor '" + printable(name) + "': a field is given twice");
    found |= bit;
  };
  json.object([&](const std::string& field) {
    if (field == "dtype") {
      once(1);
      e.dtype = json.string();
    } else if (field == "shape") {
      once(2);
      for (uint64_t n : json.numbers()) {
        if (n > INT64_MAX) json.fail("tensor '" + printable(name) + "': size " + std::to_string(n) + " is too large");
        e.shape.push_back(static_cast<int64_t>(n));
      }
    } else if (field == "data_offsets") {
      once(4);
      const auto range = json.numbers();
      if (range.size() != 2) json.fail("tensor '" + printable(name) + "': data_offsets needs two numbers");
      e.begin = range[0];
      e.end = range[1];
    } else {
      json.fail("tensor '" + printable(name) + "': unknown field '" + printable(field) + "'");
    }
  });
  if (found != 7) json.fail("tensor '" + printable(name) + "': dtype, shape and data_offsets are needed");
  return e;
}

std::string quoted(const std::string& s) {
  std::string q = "\"";
  q.reserve(s.size() + 2);
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      q += '\\';
      q += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      q += "\\u00";
      q += digits[c >> 4];
      q += digits[c & 15];
    } else {
      q += c;
    }
  }
  return q + '"';
}

}  // namespace

std::optional<DType> safetensors_dtype(const std::string& name) {
  const auto* it = std::find_if(names.begin(), names.end(), [&](const Name& n) { return name == n.text; });
  return it == names.end() ? std::nullopt : std::optional(it->dtype);
}

const char* safetensors_name(DType dtype) {
  return std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.dtype == dtype; })->text;
}

SafetensorsHeader parse_safetensors_header(const std::string& file, std::string_view text) {
  SafetensorsHeader h;
  std::set<std::string> seen;
  JsonReader json(file + ": header", text);
  json.object([&](const std::string& key) {
    if (!seen.insert(key).second) json.fail("duplicate key '" + printable(key) + "'");
    if (key == "__metadata__")
      json.object([&](const std::string& name) {
        if (!h.metadata.emplace(name, json.string()).second)
          json.fail("duplicate metadata key '" + printable(name) + "'");
      });
    else
      h.tensors.push_back(entry(json, key));
  });
  json.end();
  return h;
}

std::map<std::string, std::string> parse_safetensors_index(const std::string& file, std::string_view text) {
  std::map<std::string, std::string> shards;
  bool found = false;
  JsonReader json(file + ": index", text);
  json.object([&](const std::string& key) {
    if (key != "weight_map") return json.skip();
    if (found) json.fail("a second weight_map");
    found = true;
    json.object([&](const std::string& name) {
      const std::string shard = json.string();
      if (shard.empty() || shard == "." || shard == ".." ||
          shard.find_first_of(std::string_view("/\0", 2)) != shard.npos)
        json.fail("tensor '" + printable(name) + "' is in '" + printable(shard) +
                  "', which is no name of a file beside the index");
      if (!shards.emplace(name, shard).second) json.fail("duplicate key '" + printable(name) + "'");
    });
  });
  json.end();
  if (!found) json.fail("no weight_map");
  return shards;
}

std::string write_safetensors_header(const SafetensorsHeader& header) {
  std::string s = "{";
  if (!header.metadata.empty()) {
    s += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) s += quoted(key) + ':' + quoted(value) + ',';
    s.back() = '}';
    s += ',';
  }
  for (const auto& t : header.tensors) {
    s += quoted(t.name) + ":{\"dtype\":" + quoted(t.dtype) + ",\"shape\":[";
    for (size_t i = 0; i < t.shape.size(); ++i) s += (i ? "," : "") + std::to_string(t.shape[i]);
    s += "],\"data_offsets\":[" + std::to_string(t.begin) + ',' + std::to_string(t.end) + "]},";
  }
  if (s.back() == ',') s.pop_back();
  s += '}';
  s.append((8 - s.size() % 8) % 8, ' ');
  return s;
}

}  // namespace tutti::detail
