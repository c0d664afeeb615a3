#include "bench/paper_causes.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "bench/delassus_pgs.hpp"

namespace almond::bench {
namespace {

double residual_by(const ContactProblem& problem, const Settings& settings) {
  Workspace workspace;
  Solution solution;
  solve(problem, settings, workspace, solution);
  return make_certificate(problem, solution.v, solution.lambda).residual;
}

std::vector<double> residuals_by(const std::vector<BenchProblem>& cases, const Settings& settings,
                                 const std::string& method, const BenchOptions& options) {
  std::vector<double> residuals;
  for (const BenchProblem& c : cases) {
    options.progress(c.name + "  " + method);
    residuals.push_back(residual_by(c.problem, settings));
  }
  return residuals;
}

/// How near a contact is to the verge between bearing and open: the larger of its opening speed and of what its impulse
/// would change, λ_n W̄ [m/s].
double verge_of(const BenchProblem& c) {
  Workspace workspace;
  Solution solution;
  solve(c.problem, Settings{}, workspace, solution);
  const MatX J = make_dense_J(c.problem), X = make_dense_A(c.problem).llt().solve(J.transpose());
  const VecX w = J * solution.v + make_dense_e(c.problem);
  double least = kInfinity;
  for (int i = 0; i < c.problem.num_contacts(); ++i) {
    double trace = 0.0;
    for (int r = 3 * i; r < 3 * i + 3; ++r) trace += J.row(r).dot(X.col(r));
    least = std::min(least, std::max(w[3 * i + 2], solution.lambda[3 * i + 2] * trace / 3.0));
  }
  return least;
}

double first_iteration_at(const Run& run, double time_ms) {
  double iteration = 0.0;
  for (const TracePoint& point : run.curve)
    if (point.time_ms <= time_ms) iteration = point.iteration;
  return iteration;
}

double first_iteration_below(const Run& run, double residual) {
  for (const TracePoint& point : run.curve)
    if (point.residual <= residual) return point.iteration;
  return kInfinity;
}

}  // namespace

void show_lag(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
              const BenchOptions& options, Report& report) {
  constexpr int kShown = 10;
  Table table{key + "_lag",
              "What the lag of the friction costs CANAL",
              "Median residual after so many iterations (plain, penalty 1e4) " + where +
                  ", with their coefficients of friction multiplied by a factor.",
              {"friction"},
              {}};
  for (int k = 1; k <= kShown; k += k == 1 ? 1 : 2) table.columns.push_back("after " + std::to_string(k));
  for (const double factor : {0.0, 0.5, 1.0, 2.0}) {
    std::vector<std::vector<double>> after(kShown + 1);
    for (const BenchProblem& c : cases) {
      options.progress(c.name + "  friction " + ratio_cell(factor).text);
      ContactProblem problem = c.problem;
      for (Contact& contact : problem.contacts) contact.mu *= factor;
      Settings settings = make_plain(SolverKind::kCanal);
      settings.canal_c0 = 1e4;
      settings.tol = 1e-15;
      settings.max_iterations = kShown;
      settings.trace = true;
      Workspace workspace;
      Solution solution;
      solve(problem, settings, workspace, solution);
      double last = kInfinity;  // where a case ended, it stays
      std::size_t next = 0;
      const std::vector<TracePoint>& trace = solution.info.trace;
      for (int k = 1; k <= kShown; ++k) {
        for (; next < trace.size() && trace[next].iteration <= k; ++next) last = trace[next].residual;
        after[k].push_back(last);
      }
    }
    std::vector<Cell> row = {ratio_cell(factor)};
    for (int k = 1; k <= kShown; k += k == 1 ? 1 : 2) row.push_back(residual_cell(median(after[k])));
    table.rows.push_back(std::move(row));
  }
  report.tables.push_back(std::move(table));
  report.notes.push_back(
      "without friction CANAL converges superlinearly; with it the lag of the friction term, updated once per "
      "iteration, makes convergence linear, at a rate that the coefficient sets (table of the lag)");
}

void show_penalty(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
                  const BenchOptions& options, Report& report) {
  Table table{key + "_penalty",
              "What SubADMM's penalty at the start is worth",
              "Mean residual after " + std::to_string(kFixed) + " iterations of plain SubADMM " + where +
                  ", cold. The penalty is in multiples of what balances dynamics and constraints at a contact; the "
                  "page has it at " +
                  count_cell(kPlainPenalty).text +
                  " throughout. Density: the same for all contacts, mass by number of contacts in the geometric mean "
                  "over the bodies, as the paper has it.",
              {"penalty", "mean residual", "median residual", "by that of PGS"},
              {}};
  Settings settings = make_plain(SolverKind::kPgs, kFixed);
  const double pgs = mean(residuals_by(cases, settings, "PGS", options));
  settings = make_plain(SolverKind::kSubAdmm, kFixed);
  const auto add = [&](const std::string& name) {
    const std::vector<double> r = residuals_by(cases, settings, "SubADMM, penalty " + name, options);
    table.rows.push_back(
        {text_cell(name), residual_cell(mean(r)), residual_cell(median(r)), ratio_cell(mean(r) / pgs)});
  };
  for (const double c0 : {0.1, 1.0, 3.0, 10.0}) {
    settings.admm_c0 = c0;
    add(c0 < 1.0 ? "0.1" : count_cell(c0).text);
  }
  settings.admm_pseudo_density = true;
  add("density");
  report.tables.push_back(std::move(table));
}

void show_pgs_steps(const std::vector<BenchProblem>& cases, const std::string& key, const std::string& where,
                    const BenchOptions& options, Report& report) {
  Table table{key + "_pgs_steps",
              "What the step of PGS is worth",
              "Mean residual after " + std::to_string(kFixed) + " sweeps " + where +
                  ", cold, and SubADMM's by it. Each: normal and tangent of a contact move by the inverse of their own "
                  "entries of the Delassus matrix, which is what our PGS and PGS on W do everywhere on this page. The "
                  "others move all three by one number, the inverse of the largest eigenvalue or of the trace of the "
                  "contact's block, as simpler implementations do.",
              {"step", "mean residual", "SubADMM by it"},
              {}};
  const double subadmm = mean(residuals_by(cases, make_plain(SolverKind::kSubAdmm, kFixed), "SubADMM", options));
  const std::pair<const char*, PgsStep> steps[] = {
      {"each", PgsStep::kEach}, {"eigenvalue", PgsStep::kLargest}, {"trace", PgsStep::kTrace}};
  std::string text;
  for (const auto& [name, step] : steps) {
    std::vector<double> residuals;
    for (const BenchProblem& c : cases) {
      options.progress(c.name + "  PGS, step by " + name);
      residuals.push_back(residual_after_sweeps(c.problem, step, kFixed));
    }
    const double ratio = subadmm / mean(residuals);
    table.rows.push_back({text_cell(name), residual_cell(mean(residuals)), ratio_cell(ratio)});
    if (step != PgsStep::kEach) text += (text.empty() ? "" : " and ") + ratio_cell(ratio).text;
  }
  report.tables.push_back(std::move(table));
  report.notes.push_back(
      "SubADMM against PGS depends on how PGS steps, which the paper does not say. Ours moves normal and tangent each "
      "by "
      "its own number and settles chains of few contacts in a few sweeps; against a PGS with one number for a whole "
      "contact SubADMM has " +
      text + " of its residual (table of the step of PGS)");
}

void explain_rest(const std::vector<BenchProblem>& cases, const Comparison& result, Report& report) {
  std::vector<double> verge;
  for (const BenchProblem& c : cases) verge.push_back(verge_of(c));
  std::string text;
  for (const char* method : {"canal, plain", "subadmm, plain"}) {
    const std::vector<Run>& runs = result.of(method).runs;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (runs[k].certificate.residual <= kSolved) continue;
      const auto nearer = std::count_if(verge.begin(), verge.end(), [&](double x) { return x < verge[k]; });
      text += std::string(text.empty() ? "" : ", ") + runs[k].problem + " (" + method + ", residual " +
              residual_cell(runs[k].certificate.residual).text + "): " + residual_cell(verge[k]).text + " m/s, " +
              (nearer == 0 ? "the nearest of all"
                           : std::to_string(nearer) + (nearer == 1 ? " case is nearer" : " cases are nearer"));
    }
  }
  if (text.empty()) return;
  report.notes.push_back(
      "cases that end above 1e-8 have a contact on the verge between bearing and open, where it bears for one "
      "iteration and not for the next, and convergence all but stops. How near that is, the larger of a contact's "
      "opening speed and of what its impulse changes, beside a median of " +
      residual_cell(median(verge)).text + " m/s over all " + std::to_string(verge.size()) + " cases: " + text);
}

void explain_pace(const Comparison& result, Report& report) {
  const double end = quantile(result.of("canal, plain").times_to_1e8(), 0.5);
  std::vector<double> made, to_1e6;
  for (const Run& run : result.of("subadmm, plain").runs) {
    made.push_back(first_iteration_at(run, end));
    to_1e6.push_back(first_iteration_below(run, 1e-6));
  }
  report.notes.push_back(
      "SubADMM is at 1e-6 after " + count_cell(quantile(to_1e6, 0.5)).text + " iterations and makes " +
      count_cell(median(made)).text + " in the time that CANAL takes for all of its " +
      count_cell(quantile(result.of("canal, plain").iterations_to_1e8, 0.5)).text +
      ": an iteration is cheap here, since it does not leave the space of the contacts. One that makes "
      "a fifth as many in the same time would stay near 1e-6");
}

}  // namespace almond::bench
