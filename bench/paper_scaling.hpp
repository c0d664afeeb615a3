#pragma once
// How the methods scale with the number of balls: fixed numbers of iterations on the problems of a simulation (Fig. 8).

#include "almond/solver/solve.hpp"
#include "bench/paper.hpp"

namespace almond::bench {

inline constexpr int kMostOfPaper = 45;  // balls
inline constexpr int kLooked = 27;       // balls of the problems on which causes are looked for

/// A plain method with a fixed number of iterations.
struct FixedMethod {
  const char* name;
  SolverKind kind;
  int iterations;

  [[nodiscard]] Settings settings(Settings from = {}) const { return make_plain(kind, iterations, from); }
};
inline constexpr FixedMethod kFixedMethods[] = {
    {"canal", SolverKind::kCanal, 5}, {"subadmm", SolverKind::kSubAdmm, 100}, {"pgs", SolverKind::kPgs, 100}};

/// Of one method, over the run; cold: from no impulses at all, warm: from the exact ones of the step before.
struct FixedSummary {
  double time_ms = 0.0;                  // median
  double early_ms = 0.0, late_ms = 0.0;  // 10 and 90 %
  double cold = 0.0, warm = 0.0;         // mean residuals
  double low = 0.0, high = 0.0;          // 10 and 90 % of the cold ones
  double median_cold = 0.0, median_warm = 0.0;
};

struct ScalingSize {
  int balls = 0, dofs = 0;
  double contacts = 0.0, poured = 0.0;
  FixedSummary methods[3];       // as kFixedMethods
  double on_delassus_ms = kNaN;  // PGS that forms W first, as the paper's does; the same answers
  double forming_ms = kNaN;      // of that, until W is there
  FixedSummary held[3];          // over those steps that `ScalingRun::is_held` chose; NaN without any
};

/// A simulation to take problems from.
struct ScalingRun {
  scenes::Scene scene;
  int balls = 0;
  int every = 8;                                  // a problem is taken of so many steps
  std::string name;                               // of problems that are saved
  bool save = true;                               // all of them; else every tenth
  std::function<bool(Simulation&)> is_held = {};  // whether the step belongs to `held`. May be empty.
};

/// Runs the scene to its end; the first metric of its judge is how many balls were poured. `kept`: takes the problems;
/// may be null.
[[nodiscard]] ScalingSize measure_scaling(ScalingRun& run, const BenchOptions& options,
                                          std::vector<BenchProblem>* kept = nullptr);

/// The table of Fig. 8.
[[nodiscard]] Table tabulate_scaling(const std::vector<ScalingSize>& sizes, const std::string& name);
/// Adds figures NAME_time and NAME_residual.
void draw_scaling(const std::vector<ScalingSize>& sizes, const std::string& name, Report& report);
/// The paper's claims. `of_paper`: sizes up to the paper's; `sizes`: all of them; `growth`: why the exponents may not
/// be ordered as the paper's.
void claim_scaling(const std::vector<ScalingSize>& sizes, const std::vector<ScalingSize>& of_paper,
                   const std::string& growth, Report& report);

}  // namespace almond::bench
