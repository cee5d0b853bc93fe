// Warnings: what whoever runs a program should know, though nothing is wrong. To stderr, unless redirected.
#pragma once
#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace tutti {

using WarningHandler = std::function<void(const std::string& text)>;

/// Where warnings go from now on; an empty handler restores the default, a line on stderr. Returns the one before. A
/// handler is called by whichever thread warns.
WarningHandler set_warning_handler(WarningHandler handler);

void warn(const std::string& text);
/// Warns only if this topic has not been warned of yet in this process (or since forget_warnings).
void warn_once(const std::string& topic, const std::string& text);
void forget_warnings();

}  // namespace tutti
#pragma GCC visibility pop
