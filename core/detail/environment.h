// What environment variables say.
#pragma once
#include <initializer_list>
#include <string_view>

#pragma GCC visibility push(default)
namespace tutti::detail {

/// Which of `words` the variable is, counted from 0; -1 if it is not set, or empty. ValueError
/// "NAME=text: expected 0 or 1" if it is another word.
int environment_word(const char* name, std::initializer_list<std::string_view> words);

}  // namespace tutti::detail
#pragma GCC visibility pop
