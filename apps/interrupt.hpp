#pragma once
// Ctrl-C that ends a run in order: the work is told, and writes what it has.

namespace almond::app {

/// While it lives, the first SIGINT or SIGTERM only raises a flag; a second one ends the program as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  [[nodiscard]] bool raised() const;
};

}  // namespace almond::app
