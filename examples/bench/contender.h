// The contender protocol: a program that prepares its work, says that it is ready, and then runs steps when asked, so
// that a driver can time several of them in interleaved blocks.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace bench {

/// Prints {"ready": ..} extended by `facts`; for each line "run N" on stdin runs `step` N times and prints {"seconds":
/// S}; at "quit" or the end of input prints finish() and returns 0. Any other line is a ValueError.
int contend(const std::string& name, const nlohmann::json& facts, const std::function<void()>& step,
            const std::function<nlohmann::json()>& finish);

/// Sub-commands of tutti-bench; each returns what to run once the options are parsed.
std::function<int()> add_step(CLI::App& app);
std::function<int()> add_op(CLI::App& app);
std::function<int()> add_kernels(CLI::App& app);

}  // namespace bench
