#pragma once
// Several methods on the same contact problems from a cold start: residual over time, time over iterations.

#include "bench/paper.hpp"

namespace almond::bench {

inline constexpr double kSolved = 1e-8;  // residual [N s]
inline constexpr int kFixed = 100;       // iterations of the first-order methods, where a number is fixed

/// One contender.
struct Method {
  const char* name;
  Settings settings;
  int traced_iterations;     // of the figure over iterations; 0: it is not in it
  bool on_delassus = false;  // PGS on the Delassus matrix, of the settings only limits count
};

/// "canal" and "subadmm" are ours; "plain" ones are the paper's: no strict Newton steps, no relaxation, no
/// acceleration. "pgs on W" is the paper's PGS, which forms the Delassus matrix; "pgs" is ours.
[[nodiscard]] std::vector<Method> make_methods(double budget_ms);

/// One method on all cases.
struct Outcome {
  std::vector<Run> runs;
  std::vector<std::vector<double>> time_at;  // [iteration][case], as far as a case went [ms]
  // One entry per case.
  std::vector<double> cost_us;            // per iteration, without the preparation
  std::vector<double> late_cost;          // the last third of the iterations by the first
  std::vector<double> residual_fixed;     // after kFixed iterations of a first-order method
  std::vector<double> iterations_to_1e8;  // outer ones of CANAL; infinite: never
  std::vector<double> acceleration;       // decades per iteration, the last three before 1e-8 by the first three

  [[nodiscard]] int solved() const;
  [[nodiscard]] bool all_solved() const { return solved() == static_cast<int>(runs.size()); }
  [[nodiscard]] std::vector<double> residuals() const;
  [[nodiscard]] std::vector<double> times() const;         // [ms]
  [[nodiscard]] std::vector<double> times_to_1e8() const;  // [ms], infinite: never
  [[nodiscard]] double preparation_us() const;             // median
  [[nodiscard]] double residual_at(double time_ms) const;  // median
};

struct Comparison {
  std::vector<Method> methods;
  std::vector<Outcome> outcomes;

  [[nodiscard]] const Outcome& of(const std::string& name) const;
};

[[nodiscard]] Comparison compare(const std::vector<BenchProblem>& cases, double budget_ms, const BenchOptions& options);

/// Adds two figures, NAME_time and NAME_iterations.
void draw(const Comparison& result, const std::string& name, const std::string& what, double budget_ms, Report& report);
void tabulate(const Comparison& result, const std::string& name, const std::string& title, double budget_ms,
              Report& report);

}  // namespace almond::bench
