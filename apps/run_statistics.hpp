#pragma once
// The reports of all steps of a run, and what they come down to.

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "almond/sim/step.hpp"

namespace almond::app {

/// Middle and tail of a series; NaN: it is empty. A value that is not finite counts as infinite.
struct Spread {
  double median = kNaN, p95 = kNaN, max = kNaN;
};
[[nodiscard]] Spread make_spread(std::vector<double> values);

/// As printf writes it.
template <class... Values>
[[nodiscard]] std::string format(const char* pattern, Values... values) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, pattern, values...);
  return buffer;
}

inline constexpr std::array<Status, 6> kStatuses = {Status::kSolved,  Status::kMaxIterations, Status::kTimeBudget,
                                                    Status::kStalled, Status::kInfeasible,    Status::kNumericalError};

/// One value per step, and counts over all of them.
struct RunStatistics {
  std::vector<double> step_ms, solve_ms, collide_ms, residual, penetration_mm, opening, contacts;
  std::array<int, kStatuses.size()> status_counts{};  // as kStatuses
  std::int64_t dropped_contacts = 0, reduced_contacts = 0, suspicious_depths = 0;
  int jammed = 0, passed = 0, divided = 0;  // steps
  int held_contacts = 0;                    // most of a step
  int overdone = 0;                         // steps whose impulses no mass could need
  int energy_limited = 0;                   // steps
  double energy_dt = 0.0;                   // least that one of them asked for [s]

  void add(const StepReport& report);
  [[nodiscard]] int steps() const { return static_cast<int>(step_ms.size()); }
  [[nodiscard]] int unconverged() const { return steps() - status_counts[0]; }
};

}  // namespace almond::app
