#pragma once
// auto: the default. Who runs when, on one island.

#include "almond/solver/pgs.hpp"
#include "almond/solver/spn.hpp"
#include "almond/solver/subadmm.hpp"

namespace almond {

struct AutoOptions {
  bool warm = false;         // λ comes from a neighbouring problem
  double relax = 1.6;
  int anderson = 10;
  WorkerPool* pool = nullptr;
};

struct AutoWorkspace {
  PgsWorkspace pgs;
  SpnWorkspace spn;
  SubAdmmWorkspace admm;
};

Status solve_auto(const Island& island, const AutoOptions& options, Monitor& monitor, AutoWorkspace& workspace,
                  double* lambda);

}  // namespace almond
