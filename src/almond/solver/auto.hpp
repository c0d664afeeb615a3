#pragma once
// auto: the default. Who runs when, on one island.
//
// First sweeps of PGS with Anderson acceleration, as long as their rate promises that they are enough: what is loosely
// coupled needs no more. Then rounds.
// A round is an approach followed by SPN, which finishes superlinearly once it is near. The order of approaches depends
// on two numbers of the island, never on the clock: the price of a Newton step in SubADMM iterations, and rows per dof.
//   many rows per dof (a nut on its thread)   SPN from small c, from scratch with larger c | CANAL | SubADMM ...
//   ordinary                                   SubADMM | SubADMM | CANAL ...     (warm and cheap: SPN at once)
// A round of SubADMM costs about as much as ten Newton steps at first, and three times more each time round. It starts
// from the best λ so far, or the last one when the best did not improve.
//
// Where work is limited, an island of thousands of nodes is left to PGS: one factor would cost more than it may spend.
//
// A jam is believed when its direction proves it (recession.hpp) or two methods of SPN, CANAL and SubADMM see it. Once
// one does, or a round ends far from the law, CANAL is next. Between flanks there are jams of the path as well as of
// the problem.
//
// Coulomb's law may have several answers, a cube in a hand that holds and one that slides out. With prefer_stick, where
// the start is far off and nothing slides yet, the convex problem comes first (stick.hpp): its answer is unique, and if
// nothing slips in it, it obeys the law; if little slips, SPN goes on from there. It comes again where slip begins in
// an answer: forces that gathered on one corner of a grasp, as warm starts let them, slip where even ones hold.
//
// Rounds are separate calls: solve() gives every island its first round before any gets a second one.

#include "almond/solver/canal.hpp"
#include "almond/solver/pgs.hpp"
#include "almond/solver/spn.hpp"
#include "almond/solver/stick.hpp"
#include "almond/solver/subadmm.hpp"

namespace almond {

struct AutoOptions {
  bool warm = false;  // λ comes from a neighbouring problem
  bool prefer_stick = false;
  const GrowVector* v0 = nullptr;  // velocities before, if known
  SubAdmmOptions admm;
};

struct AutoWorkspace {
  PgsWorkspace pgs;
  SpnWorkspace spn;
  SubAdmmWorkspace admm;
  CanalWorkspace canal;
  double newton_price = 0.0;  // in SubADMM iterations
  StickPath stick;            // the search for an answer without slip, from nothing
  bool stick_begun = false;   // in this solve
  int effort = 0;             // SubADMM iterations of the next round
  unsigned jams = 0;          // the methods that saw one, as bits
  bool canal_done = false;
  std::vector<double> scratch;
  StickPath warm_stick;
};

inline constexpr int kAutoRounds = 12;

/// One round from λ (in and out). kStalled means: worth another round.
Status run_auto_round(const Island& island, const AutoOptions& options, int round, Monitor& monitor,
                      AutoWorkspace& workspace, double* lambda);

/// Whether contacts of the monitor's best, with velocities w, slide, and those that bear did not at v0.
[[nodiscard]] bool slip_begins(const Island& island, const Monitor& monitor, const double* w, const GrowVector& v0);

/// Puts an answer without slip in the place of the monitor's best. False: there is none, or to look costs too much.
bool hold_instead(const Island& island, Monitor& monitor, AutoWorkspace& workspace, double* lambda);

}  // namespace almond
