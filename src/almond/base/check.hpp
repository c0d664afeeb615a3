#pragma once
// Errors at the boundary and invariants inside.
//
// Error is thrown only where input enters (builders, validate(), file readers); its message names the place, the value
// and what was expected. ALMOND_ASSERT guards invariants in debug and sanitizer builds and costs nothing in release.

#include <cassert>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace almond {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error(message) unless `ok`. Build the message lazily at the call site when it is costly.
inline void require(bool ok, const std::string& message) {
  if (!ok) throw Error(message);
}

/// A double as people write it, short and exact enough to recognise the value: 0.5, -1e+20, nan.
inline std::string to_text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

}  // namespace almond

#ifdef NDEBUG
#define ALMOND_ASSERT(condition) static_cast<void>(0)
#else
#define ALMOND_ASSERT(condition) assert(condition)
#endif
