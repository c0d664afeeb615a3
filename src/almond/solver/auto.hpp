#pragma once
// auto: the default. Who runs when, on one island.
//
// A round is a cheap approach followed by SPN, which finishes superlinearly once it is near:
//   round 0   SubADMM, a few iterations per price of a Newton step         (warm and cheap: SPN at once)
//   round 1   CANAL, a few outer iterations: the convex path goes where strict Newton cannot start
//   round 2   PGS from there; later rounds repeat with twice the effort, from the last λ when the best did not improve
// Where one Newton step costs a thousand sweeps (a thousand spheres), PGS comes first and CANAL never.
// The price of a Newton step is counted in flops of one SubADMM iteration, so the schedule does not depend on the clock.
//
// Rounds are separate calls: solve() gives every island its first round before any gets a second one.

#include "almond/solver/canal.hpp"
#include "almond/solver/pgs.hpp"
#include "almond/solver/spn.hpp"
#include "almond/solver/subadmm.hpp"

namespace almond {

struct AutoOptions {
  bool warm = false;  // λ comes from a neighbouring problem
  SubAdmmOptions admm;
  double pgs_omega = 1.0;
};

struct AutoWorkspace {
  PgsWorkspace pgs;
  SpnWorkspace spn;
  SubAdmmWorkspace admm;
  CanalWorkspace canal;
  double newton_price = 0.0;  // in SubADMM iterations
  int effort = 0;             // SubADMM iterations or half the sweeps of the next round
};

inline constexpr int kAutoRounds = 12;

/// One round from λ (in and out). kStalled means: worth another round.
Status run_auto_round(const Island& island, const AutoOptions& options, int round, Monitor& monitor,
                      AutoWorkspace& workspace, double* lambda);

}  // namespace almond
