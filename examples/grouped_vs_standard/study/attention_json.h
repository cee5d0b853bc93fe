// Options of attention layers as JSON: what differs from the default, by name.
#pragma once
#include <nlohmann/json.hpp>

#include "common/attention.h"

namespace comparison {

/// j[name] = value, unless it is the usual one.
template <class T>
void put(nlohmann::json& j, const char* name, const T& value, const T& usual) {
  if (value != usual) j[name] = value;
}

nlohmann::json json_of(const examples::AttentionChoice& attention);

}  // namespace comparison
