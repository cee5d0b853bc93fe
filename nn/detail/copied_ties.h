// How tied parameters stay tied in a module's copy.
//
// A copy is made member by member, and a Parameter that is copied knows nothing of the others. But the base class of
// the outermost module is copied before all its members: that is where a copy begins. If anything is tied below, the
// members that are to follow are noted, for this thread, and the first of those that are one tensor leaves its copy to
// the others.
#pragma once
#include "tutti/core/tensor.h"

#pragma GCC visibility push(default)
namespace tutti::nn {

class Module;
class Parameter;

namespace detail {

/// Something was tied in this program: until then, modules need not be looked over when they are copied.
void note_tie();
/// A module is being copied, alone or as a part of one.
void begin_copy(const Module& from);
/// The tensor that the copy of this parameter shall be: another's copy, or what `make(from.tensor())` gives.
Tensor copy_of(const Parameter& from, Tensor (*make)(const Tensor&));
/// The copy of this parameter is in a tensor that was there before.
void note_copy(const Parameter& from, const Tensor& to);

}  // namespace detail
}  // namespace tutti::nn
#pragma GCC visibility pop
