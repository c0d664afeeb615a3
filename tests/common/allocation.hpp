#pragma once
// Counts heap allocations of the whole process, for tests of code that must not allocate.

#include <cstdint>

namespace almond::testing {

/// False where malloc cannot be replaced (sanitizers): such tests skip.
[[nodiscard]] bool can_count_allocations();

/// Allocations (malloc, operator new, aligned forms, by any thread) since construction.
class AllocationCounter {
 public:
  AllocationCounter();
  [[nodiscard]] std::int64_t count() const;

 private:
  std::int64_t start_;
};

}  // namespace almond::testing
