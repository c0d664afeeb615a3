#pragma once
// Why some claims of the paper do not hold here: each cause is measured on the same contact problems and becomes a
// table or a note.

#include "bench/paper_compare.hpp"

namespace almond::bench {

/// Friction lags behind in CANAL: each convex problem has that of the answer before. What this costs is seen where
/// friction is another one. `key` begins the table's name, `where` says on which problems. Returns Newton steps per
/// iteration, early (the first two) and late (the last two of ten), with the friction as it is.
std::pair<double, double> show_lag(const std::vector<BenchProblem>& cases, const std::string& key,
                                   const std::string& where, const BenchOptions& options, Report& report);

/// SubADMM depends on the penalty that it starts with: residuals after as many iterations from several.
void show_penalty(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
                  const BenchOptions& options, Report& report);

/// CANAL does, too, where its iterations are few.
void show_canal_penalty(const std::vector<BenchProblem>& cases, int iterations, const std::string& key,
                        const std::string& where, const BenchOptions& options, Report& report);

/// PGS depends on how far a sweep moves the impulse of one contact.
void show_pgs_steps(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
                    const BenchOptions& options, Report& report);

/// What is peculiar about the cases that plain methods leave above 1e-8: solved from other penalties, and how near a
/// contact is to the verge between bearing and open.
void explain_rest(const std::vector<BenchProblem>& cases, const Comparison& result, Report& report);

/// How many iterations of SubADMM fit into the time that CANAL needs, and where the paper's penalty is after as many.
void explain_pace(const std::vector<BenchProblem>& cases, const Comparison& result, const BenchOptions& options,
                  Report& report);

}  // namespace almond::bench
