#pragma once
// The convex problem, p = 0 in (20): its velocity is unique, and where nothing slips in it, it obeys the law.
//
// Newton on the proximal surrogate with a penalty that grows in every iteration: nothing lags, so each takes off as
// much again. Where something slips, p = 0 is wrong and the natural map stops falling at once; λ is then near the
// answer all the same, since what slips slips little, and a good place for SPN to begin.

#include "almond/solver/surrogate.hpp"

namespace almond {

struct StickPenalty {
  double first = 0.0, growth = 0.0;
};

/// How far the search has come, so that it can go on later.
struct StickPath {
  std::vector<double> lambda;
  StickPenalty penalty;
  double c = 0.0;  // the last penalty; 0: not begun
  double natural = kInfinity;
  int outers = 0;
  Status status = Status::kMaxIterations;

  void begin(const double* start, int rows, const StickPenalty& how);
};

/// Goes on until the natural map is below `near`. kSolved: an answer without slip. kStalled: something slips; anything
/// else: no answer yet.
Status solve_stick(const Island& island, double near, Monitor& monitor, Surrogate& surrogate, StickPath& path);

}  // namespace almond
