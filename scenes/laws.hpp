#pragma once
// Laws of physics, measured on the simulator with its default setting. `almond verify` prints them, the tests hold
// them.

#include <functional>
#include <string>
#include <vector>

namespace almond::scenes {

/// One line of the table.
struct LawResult {
  std::string what;  // "block at 3 m/s: stopping distance"
  double measured;
  double exact;      // what the law says
  double tolerance;  // |measured - exact| <= tolerance; derived from dt where the law is discretised
  std::string unit;
  [[nodiscard]] bool holds() const { return measured - exact <= tolerance && exact - measured <= tolerance; }
};

struct Law {
  std::string name;  // "slope"
  std::function<std::vector<LawResult>()> run;
};

[[nodiscard]] const std::vector<Law>& all_laws();

}  // namespace almond::scenes
