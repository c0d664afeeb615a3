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

std::pair<double, double> show_lag(const std::vector<BenchProblem>& cases, const std::string& key,
                                   const std::string& where, const BenchOptions& options, Report& report) {
  constexpr int kShown[] = {1, 2, 4, 6, 8, 10};
  Table table{key + "_lag",
              "What the lag of the friction costs CANAL",
              "Median residual after so many plain iterations " + where +
                  ", with their coefficients of friction multiplied by a factor.",
              {"friction"},
              {}};
  for (const int k : kShown) table.columns.push_back("after " + std::to_string(k));
  std::string after_all;
  std::pair<double, double> steps;
  for (const double factor : {0.0, 0.5, 1.0, 2.0}) {
    std::vector<Cell> row = {ratio_cell(factor)};
    std::vector<double> newton;  // mean number of steps until there
    for (const int k : kShown) {
      Settings settings = make_plain(SolverKind::kCanal, k);
      settings.tol = 1e-15;
      std::vector<double> residuals, made;
      for (const BenchProblem& c : cases) {
        options.progress(c.name + "  friction " + ratio_cell(factor).text);
        ContactProblem problem = c.problem;
        for (Contact& contact : problem.contacts) contact.mu *= factor;
        Workspace workspace;
        Solution solution;
        solve(problem, settings, workspace, solution);
        residuals.push_back(make_certificate(problem, solution.v, solution.lambda).residual);
        made.push_back(solution.info.newton_steps);
      }
      row.push_back(residual_cell(median(residuals)));
      newton.push_back(mean(made));
    }
    after_all += (after_all.empty() ? "" : ", ") + row.back().text + " with " + ratio_cell(factor).text;
    if (factor == 1.0) steps = {newton[1] / 2.0, (newton[5] - newton[4]) / 2.0};
    table.rows.push_back(std::move(row));
  }
  report.tables.push_back(std::move(table));
  report.notes.push_back(
      "CANAL updates the friction term once per iteration. After ten iterations the median residual is " + after_all +
      " the friction (table of the lag)");
  return steps;
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

void show_canal_penalty(const std::vector<BenchProblem>& cases, int iterations, const std::string& key,
                        const std::string& where, const BenchOptions& options, Report& report) {
  Table table{key + "_canal_penalty",
              "What CANAL's penalty at the start is worth",
              "Residual after " + std::to_string(iterations) + " plain iterations " + where +
                  ", cold. The page has it at " + count_cell(kPlainCanalPenalty).text +
                  " throughout; the paper's 1e4 is in units of its own.",
              {"penalty", "mean residual", "median residual"},
              {}};
  for (const double c0 : {10.0, 100.0, 1e3, 1e4, 1e5}) {
    Settings settings = make_plain(SolverKind::kCanal, iterations);
    settings.canal_c0 = c0;
    const std::vector<double> r = residuals_by(cases, settings, "CANAL, penalty " + count_cell(c0).text, options);
    table.rows.push_back({count_cell(c0), residual_cell(mean(r)), residual_cell(median(r))});
  }
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
  Table table{
      "rest",
      "Cases that plain methods leave above 1e-8",
      "Residual, and that from a third and from ten times the penalty at the start. Verge: how near a contact is "
      "to the verge between bearing and open, the larger of its opening speed and of what its impulse changes; "
      "nearer: so many of all cases are nearer to it.",
      {"case", "method", "residual", "penalty / 3", "penalty x 10", "verge m/s", "nearer"},
      {}};
  std::vector<double> verge;
  const std::pair<const char*, SolverKind> methods[] = {{"canal, plain", SolverKind::kCanal},
                                                        {"subadmm, plain", SolverKind::kSubAdmm}};
  for (const auto& [method, kind] : methods) {
    const std::vector<Run>& runs = result.of(method).runs;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (runs[k].certificate.residual <= kSolved) continue;
      if (verge.empty())
        for (const BenchProblem& c : cases) verge.push_back(verge_of(c));
      const auto from = [&, kind = kind](double factor) {
        Settings settings = make_plain(kind);
        settings.canal_c0 *= factor;
        settings.admm_c0 *= factor;
        settings.budget_ms = 1000.0;
        const double residual = residual_by(cases[k].problem, settings);
        return residual_cell(residual, residual <= kSolved ? Tone::kGood : Tone::kPlain);
      };
      table.rows.push_back({text_cell(runs[k].problem), text_cell(method), residual_cell(runs[k].certificate.residual),
                            from(1.0 / 3.0), from(10.0), residual_cell(verge[k]),
                            count_cell(static_cast<double>(
                                std::count_if(verge.begin(), verge.end(), [&](double x) { return x < verge[k]; })))});
    }
  }
  if (!table.rows.empty()) report.tables.push_back(std::move(table));
}

void explain_pace(const std::vector<BenchProblem>& cases, const Comparison& result, const BenchOptions& options,
                  Report& report) {
  const double end = quantile(result.of("canal, plain").times_to_1e8(), 0.5);
  std::vector<double> made, to_1e6;
  for (const Run& run : result.of("subadmm, plain").runs) {
    made.push_back(first_iteration_at(run, end));
    to_1e6.push_back(first_iteration_below(run, 1e-6));
  }
  const int many = std::max(1, static_cast<int>(median(made)));
  Settings settings = make_plain(SolverKind::kSubAdmm, many);
  settings.admm_pseudo_density = true;
  const double of_paper = median(residuals_by(cases, settings, "SubADMM, the paper's penalty", options));
  report.notes.push_back(
      "SubADMM is at 1e-6 after " + count_cell(quantile(to_1e6, 0.5)).text + " iterations and makes " +
      std::to_string(many) + " in the time that CANAL takes for all of its " +
      count_cell(quantile(result.of("canal, plain").iterations_to_1e8, 0.5)).text +
      ". From the paper's rule for the penalty (density) it is at " + residual_cell(of_paper).text + " after as many");
}

}  // namespace almond::bench
