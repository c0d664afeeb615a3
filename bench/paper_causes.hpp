#pragma once
// Why some claims of the paper do not hold here: each cause is measured on the same contact problems and becomes a
// table or a note.

#include "bench/paper_compare.hpp"

namespace almond::bench {

/// Friction lags behind in CANAL: each convex problem has that of the answer before. What this costs is seen where
/// friction is another one. `key` begins the table's name, `where` says on which problems.
void show_lag(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
              const BenchOptions& options, Report& report);

/// SubADMM depends on the penalty that it starts with: residuals after as many iterations from several.
void show_penalty(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
                  const BenchOptions& options, Report& report);

/// PGS depends on how far a sweep moves the impulse of one contact.
void show_pgs_steps(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
                    const BenchOptions& options, Report& report);

/// What is peculiar about the cases that plain methods leave above 1e-8.
void explain_rest(const std::vector<BenchProblem>& cases, const Comparison& result, Report& report);

/// How many iterations of SubADMM fit into the time that CANAL needs.
void explain_pace(const Comparison& result, Report& report);

}  // namespace almond::bench
