// Files of other formats, given to a reader by mistake: what they are, and what to do with them.
#pragma once
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace tutti::detail {

/// "a NumPy array (.npy): load_npy reads it", from the first 512 bytes of a file (fewer only if it is shorter); empty
/// if they say nothing. To be asked only once a reader cannot make sense of the file: a few bytes are no proof.
std::string foreign_format(std::string_view start);

}  // namespace tutti::detail
#pragma GCC visibility pop
