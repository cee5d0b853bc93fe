#include "tutti/core/number.h"

#include "tutti/core/error.h"
namespace tutti {

bool Number::fits(DType dtype) const {
  if (is_floating(dtype)) return true;
  const double end = dtype == DType::int64 ? 0x1p63 : dtype == DType::int32 ? 0x1p31 : dtype == DType::uint8 ? 256 : 2;
  const double low = dtype == DType::int64 || dtype == DType::int32 ? -end : 0;
  if (integer_ && dtype == DType::int64) return true;
  return real_ >= low && real_ < end && real_ == static_cast<double>(whole());
}

void append(std::string& to, const Number& n) { to += n.is_integer() ? message(n.whole()) : message(n.real()); }

}  // namespace tutti
