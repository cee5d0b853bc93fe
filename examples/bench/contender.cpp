#include "bench/contender.h"

#include <chrono>
#include <iostream>
#include <sstream>

#include "tutti/tutti.h"

namespace bench {

int contend(const std::string& name, const nlohmann::json& facts, const std::function<void()>& step,
            const std::function<nlohmann::json()>& finish) {
  nlohmann::json hello = facts;
  hello["ready"] = name;
  std::cout << hello.dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    int64_t count = 0;
    words >> word;
    if (word == "quit" || word.empty()) break;
    if (word != "run" || !(words >> count) || count < 0)
      throw tutti::ValueError("expected 'run N' or 'quit' on standard input, not '" + line + "'");
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < count; ++i) step();
    tutti::synchronize(tutti::default_device());  // a GPU is done later than the calls
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << nlohmann::json{{"seconds", seconds}}.dump() << std::endl;
  }
  std::cout << finish().dump() << std::endl;
  return 0;
}

}  // namespace bench
