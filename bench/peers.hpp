#pragma once
// Solvers of other projects on the same problems: Siconos (NSGS, NSN_AC, ADMM) and Pinocchio (ADMM, PGS).
//
// None is needed to build or run. Each runs in a process of its own through a script in bench/, gets W = J A⁻¹ Jᵀ and q
// ready made (forming them is not counted against it), and returns impulses with times; the certificate is ours for
// all.

#include <string>
#include <vector>

#include "bench/runs.hpp"

namespace almond::bench {

struct Peer {
  std::string name;    // siconos-nsgs, ...
  std::string python;  // interpreter that can import it
  std::string script;
  std::string solver;  // its name in the script
};

/// Throws Error unless `selection` is all, none, siconos or pinocchio.
void check_peers(const std::string& selection);

/// Peers that are not installed are left out, with a note.
[[nodiscard]] std::vector<Peer> find_peers(const std::string& selection, std::vector<std::string>& notes);

/// Peers know contacts only.
[[nodiscard]] bool fits_peers(const ContactProblem& problem);

/// Writes W, q and mu for the scripts (.npz).
void export_delassus(const ContactProblem& problem, const std::string& path);

/// A ladder of cold runs up to the budget. Crashes, hangs and missing results are told in Run::failure.
[[nodiscard]] Run run_peer(const Peer& peer, const BenchProblem& problem, const std::string& exported,
                           double budget_ms);

/// One cold run per problem with an iteration limit and a tolerance.
[[nodiscard]] std::vector<Run> run_peer_once(const Peer& peer, const std::vector<BenchProblem>& problems,
                                             int max_iterations, double tolerance, double timeout_ms);

}  // namespace almond::bench
