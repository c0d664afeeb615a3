// `almond solve`: problem files in, certificate and impulses out.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/problem_file.hpp"
#include "almond/sim/options.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "bench/page.hpp"
#include "bench/summary.hpp"

namespace almond::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kDefaultRepeats = 5;
constexpr int kAsNeeded = -1;                  // repeats: five, fewer when they take long
constexpr double kRepeatAllowanceMs = 1000.0;  // default repeats stop when they have taken this long

struct SolveOptions {
  std::vector<std::string> files, solver_names, assignments;
  double tol = 1e-8, budget_ms = 0.0;
  int max_iterations = 0, threads = 1, repeats = kAsNeeded;
  bool strict = false, warm = false;
  std::string json, trace, html, png, solution_folder;
};

struct Job {
  std::string file, name;
  ContactProblem problem;
  std::vector<std::string> notes;
};

struct Outcome {
  const Job* job = nullptr;
  SolverKind solver = SolverKind::kAuto;
  Solution solution;
  Certificate certificate;
  double time_ms = 0.0, setup_ms = 0.0;
  int repeats = 0;
  bool warm = false;
  bench::Run run;  // with the curve, when a trace is wanted
};

Job load_job(const std::string& file) {
  Job job;
  job.file = file;
  job.name = fs::path(file).stem().string();
  LoadReport report;
  job.problem = load_problem(file, &report);
  job.notes = report.notes;
  for (const std::string& note : report.notes) say("note: " + file + ": " + note);
  return job;
}

/// One of several that cannot be read is told, counted and left out.
std::vector<Job> load_jobs(const SolveOptions& options, int& unread) {
  const std::vector<std::string> files = expand_inputs(options.files);
  std::vector<Job> jobs;
  for (const std::string& file : files) {
    try {
      jobs.push_back(load_job(file));
    } catch (const Error& error) {
      if (files.size() == 1) throw;
      say(std::string("almond: ") + error.what());
      ++unread;
    }
  }
  require(!jobs.empty(), "solve: none of the " + std::to_string(files.size()) + " files can be read");
  return jobs;
}

/// Start values of the file, if it has them and they are asked for.
bool set_start(const ContactProblem& problem, bool warm, Solution& solution) {
  solution = Solution{};
  if (!warm || problem.lambda0.empty()) return false;
  solution.lambda = MapConstVec(problem.lambda0.data(), problem.num_rows());
  if (!problem.v0.empty()) solution.v = MapConstVec(problem.v0.data(), problem.num_dofs());
  return true;
}

Outcome solve_job(const Job& job, Settings settings, const SolveOptions& options, bool want_curve) {
  Outcome out;
  out.job = &job;
  out.solver = settings.solver;
  std::vector<double> times, setups;
  double total = 0.0;
  const int repeats = options.repeats > 0 ? options.repeats : kDefaultRepeats;
  Workspace workspace;
  while (static_cast<int>(times.size()) < repeats &&
         (options.repeats > 0 || times.empty() || total < kRepeatAllowanceMs)) {
    workspace.forget();
    out.warm = set_start(job.problem, options.warm, out.solution);
    settings.warm_start = out.warm;
    solve(job.problem, settings, workspace, out.solution);
    times.push_back(out.solution.info.time_ms);
    setups.push_back(out.solution.info.setup_ms);
    total += times.back();
  }
  out.repeats = static_cast<int>(times.size());
  out.time_ms = bench::median(times);
  out.setup_ms = bench::median(setups);
  out.certificate = make_certificate(job.problem, out.solution.v, out.solution.lambda);
  if (!want_curve) return out;

  workspace.forget();
  Solution traced;
  set_start(job.problem, options.warm, traced);
  settings.trace = true;
  out.run.status = solve(job.problem, settings, workspace, traced);
  out.run.problem = job.name;
  out.run.solver = to_string(out.solver);
  out.run.contacts = job.problem.num_contacts();
  out.run.dofs = job.problem.num_dofs();
  out.run.iterations = traced.info.iterations;
  out.run.newton_steps = traced.info.newton_steps;
  out.run.time_ms = out.time_ms;
  out.run.certificate = out.certificate;
  bench::finish_curve(traced.info.trace, out.run);
  return out;
}

Json certificate_json(const Certificate& c) {
  Json modes = Json::array();
  for (const ContactMode mode : c.mode) {
    modes.push_back(to_string(mode));
  }
  return {{"residual", c.residual},
          {"natural_map", c.natural_map},
          {"normal_violation", c.normal_violation},
          {"complementarity", c.complementarity},
          {"cone_violation", c.cone_violation},
          {"slip_error", c.slip_error},
          {"dynamics_residual", c.dynamics_residual},
          {"row_violation", c.row_violation},
          {"impulse_ratio", c.impulse_ratio},
          {"worst_constraint", c.worst_constraint},
          {"open", c.modes[0]},
          {"stick", c.modes[1]},
          {"slip", c.modes[2]},
          {"modes", std::move(modes)},
          {"finite", c.finite}};
}

/// A list with one object per line: readable, and short where an object holds a long array.
std::string one_per_line(const Json& list) {
  std::string out = "[";
  for (const Json& object : list) out += (out.size() > 1 ? ",\n " : "\n ") + object.dump();
  return out + "\n]\n";
}

std::string outcomes_json(const std::vector<Outcome>& outcomes, const Settings& settings) {
  Json list = Json::array();
  for (const Outcome& o : outcomes) {
    const SolveInfo& info = o.solution.info;
    list.push_back({{"file", o.job->file},
                    {"solver", to_string(o.solver)},
                    {"status", to_string(o.solution.status)},
                    {"contacts", o.job->problem.num_contacts()},
                    {"dofs", o.job->problem.num_dofs()},
                    {"iterations", info.iterations},
                    {"newton_steps", info.newton_steps},
                    {"time_ms", o.time_ms},
                    {"residual", o.certificate.residual},
                    {"natural_map", o.certificate.natural_map},
                    {"certificate", certificate_json(o.certificate)},
                    {"rows", o.job->problem.num_rows()},
                    {"islands", info.islands},
                    {"setup_ms", o.setup_ms},
                    {"pgs_sweeps", info.pgs_sweeps},
                    {"admm_iterations", info.admm_iterations},
                    {"inner_failures", info.inner_failures},
                    {"repeats", o.repeats},
                    {"threads", settings.threads},
                    {"tol", settings.tol},
                    {"warm", o.warm},
                    {"notes", o.job->notes}});
  }
  return one_per_line(list);
}

/// Best-so-far curves: CSV, or JSON where the name says so.
std::string traces_text(const std::vector<Outcome>& outcomes, const std::string& path) {
  if (fs::path(path).extension() == ".json") {
    Json list = Json::array();
    for (const Outcome& o : outcomes) {
      Json points = Json::array();
      for (const TracePoint& p : o.run.curve) {
        points.push_back({{"time_ms", p.time_ms},
                          {"iteration", p.iteration},
                          {"residual", p.residual},
                          {"natural_map", p.natural_map}});
      }
      list.push_back({{"file", o.job->file}, {"solver", to_string(o.solver)}, {"points", std::move(points)}});
    }
    return one_per_line(list);
  }
  std::string out = "file,solver,time_ms,iteration,residual,natural_map\n";
  for (const Outcome& o : outcomes) {
    for (const TracePoint& p : o.run.curve) {
      char numbers[128];
      std::snprintf(numbers, sizeof numbers, ",%.6g,%d,%.6e,%.6e\n", p.time_ms, p.iteration, p.residual, p.natural_map);
      out += "\"" + o.job->file + "\"," + to_string(o.solver) + numbers;
    }
  }
  return out;
}

bench::Table outcomes_table(const std::vector<Outcome>& outcomes) {
  bench::Table table{"solves",
                     "",
                     "",
                     {"problem", "solver", "status", "contacts", "dofs", "iterations", "time ms", "residual",
                      "natural map", "open", "stick", "slip"},
                     {}};
  for (const Outcome& o : outcomes) {
    const bool solved = o.solution.status == Status::kSolved;
    const bench::Tone tone = solved ? bench::Tone::kGood : bench::Tone::kBad;
    table.rows.push_back(
        {bench::text_cell(o.job->name), bench::text_cell(to_string(o.solver)),
         bench::text_cell(to_string(o.solution.status), tone), bench::count_cell(o.job->problem.num_contacts()),
         bench::count_cell(o.job->problem.num_dofs()), bench::count_cell(o.solution.info.iterations),
         bench::time_cell(o.time_ms), bench::residual_cell(o.certificate.residual, tone),
         bench::residual_cell(o.certificate.natural_map, tone), bench::count_cell(o.certificate.modes[0]),
         bench::count_cell(o.certificate.modes[1]), bench::count_cell(o.certificate.modes[2])});
  }
  return table;
}

std::vector<bench::Run> curves_of(const std::vector<Outcome>& outcomes) {
  std::vector<bench::Run> runs;
  for (const Outcome& o : outcomes) runs.push_back(o.run);
  return runs;
}

double longest_ms(const std::vector<Outcome>& outcomes) {
  double longest = 1.0;
  for (const Outcome& o : outcomes) {
    if (!o.run.curve.empty()) longest = std::max(longest, o.run.curve.back().time_ms);
  }
  return longest;
}

std::string outcomes_page(const std::vector<Outcome>& outcomes) {
  bench::Report report;
  report.name = "solve";
  report.title = "Almond: " + std::to_string(outcomes.size()) + (outcomes.size() == 1 ? " solve" : " solves");
  report.lead =
      "Residual: the paper's metric [N s]. Natural map: distance from the Signorini-Coulomb law relative to the free "
      "velocity. "
      "Times are medians of cold solves.";
  report.facts = bench::machine_facts();
  report.tables = {outcomes_table(outcomes)};
  report.tables.front().title = "Certificates";
  int index = 0;
  for (const bench::Plot& plot : bench::curve_plots(curves_of(outcomes), longest_ms(outcomes))) {
    report.figures.push_back(
        {"curve" + std::to_string(index++), plot.title, "Natural map over time", bench::to_svg(plot)});
  }
  for (const Outcome& o : outcomes) {
    if (o.solver != outcomes.front().solver) continue;
    for (const std::string& note : o.job->notes) report.notes.push_back(o.job->name + ": " + note);
  }
  return bench::to_html(report);
}

std::string solution_path(const SolveOptions& options, const std::string& name, SolverKind kind) {
  return (fs::path(options.solution_folder) / (name + "." + to_string(kind) + ".npz")).string();
}

void check_outputs(const SolveOptions& options, const std::vector<Job>& jobs) {
  check_output("--json", options.json);
  check_output("--trace", options.trace);
  check_output("--html", options.html);
  check_output("--png", options.png);
  int on_stdout = 0;
  for (const std::string& path : {options.json, options.trace, options.html, options.png})
    on_stdout += path == "-" ? 1 : 0;
  require(on_stdout <= 1, "only one output can go to standard output (-)");
  if (options.solution_folder.empty()) return;
  std::set<std::string> names;
  for (const Job& job : jobs) {
    require(names.insert(job.name).second,
            "--save-solution: two problems are named " + quote(job.name) + "; solve them into different folders");
  }
  std::error_code error;
  fs::create_directories(options.solution_folder, error);
  require(fs::is_directory(options.solution_folder),
          "--save-solution " + options.solution_folder + ": cannot make this folder");
}

Settings make_settings(const SolveOptions& options) {
  Settings settings = options.warm ? StepOptions{}.solver : Settings{};
  settings.tol = options.tol;
  settings.max_iterations = options.max_iterations;
  settings.budget_ms = options.budget_ms;
  settings.threads = options.threads;
  for (const std::string& assignment : options.assignments) apply_setting(assignment, settings);
  settings.validate();
  return settings;
}

int run_solve(SolveOptions& options) {
  std::vector<SolverKind> kinds = parse_solvers(options.solver_names, options.files);
  const Settings base = make_settings(options);
  if (kinds.empty()) kinds.push_back(base.solver);
  require(!options.files.empty(), "solve: no problem file given");
  require(options.repeats == kAsNeeded || options.repeats > 0,
          "--repeats " + std::to_string(options.repeats) + ": expected at least 1");
  int unread = 0;
  const std::vector<Job> jobs = load_jobs(options, unread);
  check_outputs(options, jobs);
  const bool want_curve = !options.trace.empty() || !options.html.empty() || !options.png.empty();

  Progress progress;
  std::vector<Outcome> outcomes;
  for (const Job& job : jobs) {
    if (options.warm && job.problem.lambda0.empty()) {
      say("note: " + job.file + ": has no start values (lambda0), solved cold");
    }
    for (const SolverKind kind : kinds) {
      progress.show("solving " + job.name + "  " + to_string(kind));
      Settings settings = base;
      settings.solver = kind;
      outcomes.push_back(solve_job(job, settings, options, want_curve));
      if (!options.solution_folder.empty()) {
        save_solution(solution_path(options, job.name, kind), outcomes.back().solution.v,
                      outcomes.back().solution.lambda);
      }
    }
  }
  progress.clear();

  const bool stdout_taken = options.json == "-" || options.trace == "-" || options.html == "-" || options.png == "-";
  const bench::Table table = outcomes_table(outcomes);
  std::fputs(bench::to_text(table, !stdout_taken && use_colour()).c_str(), stdout_taken ? stderr : stdout);
  write_output(options.json, outcomes_json(outcomes, base));
  if (!options.trace.empty()) write_output(options.trace, traces_text(outcomes, options.trace));
  if (!options.html.empty()) write_output(options.html, outcomes_page(outcomes));
  if (!options.png.empty()) {
    const std::vector<bench::Plot> plots = bench::curve_plots(curves_of(outcomes), longest_ms(outcomes));
    write_output(options.png, bench::to_png(bench::to_sheet(plots, std::min<int>(3, static_cast<int>(plots.size())))));
  }
  if (unread > 0) {
    std::fprintf(stderr, "almond: %d of %zu files could not be read\n", unread, unread + jobs.size());
    return kBadInput;
  }
  if (!options.strict) return kDone;
  for (const Outcome& o : outcomes) {
    if (o.solution.status != Status::kSolved) return kWorkFailed;
  }
  return kDone;
}

}  // namespace

Action add_solve_command(CLI::App& command) {
  const auto o = std::make_shared<SolveOptions>();
  command.add_option("FILE", o->files, "problem files (FCLIB .hdf5, .npz, .json) or folders of them");
  command.add_option(
      "--solver", o->solver_names,
      "auto (default), canal, subadmm, spn, pgs, admm-nosub, admm-nobody, dogleg, damped-sn, all; may be repeated");
  expect_number(command.add_option("--tol", o->tol,
                                   "paper residual to reach; the natural map must reach a tenth of it (default 1e-8)"));
  expect_whole(
      command.add_option("--max-iters", o->max_iterations, "limit of outer iterations (default 0: the method's own)"));
  expect_number(command.add_option("--budget-ms", o->budget_ms, "wall-clock limit of one solve (default 0: none)"));
  expect_whole(command.add_option("--threads", o->threads, "workers inside one solve (default 1)"));
  expect_whole(command.add_option("--repeats", o->repeats,
                                  "cold solves whose median is the time (default: 5, fewer when slow)"));
  command.add_option("--set", o->assignments, "key=value: any field of Settings, e.g. canal_c0=10; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--warm", o->warm, "solve as a step of a simulation does, from v0 and lambda0 of the file");
  command.add_flag("--strict", o->strict, "exit 1 unless every solve reaches the tolerance");
  command.add_option("--json", o->json, "write results as JSON (-: standard output)");
  command.add_option("--trace", o->trace, "write residual over time as CSV, or JSON by extension");
  command.add_option("--html", o->html, "write a page with table and curves");
  command.add_option("--png", o->png, "draw the curves (needs rsvg-convert)");
  command.add_option("--save-solution", o->solution_folder, "write DIR/NAME.SOLVER.npz with v and lambda");
  return [o] { return run_solve(*o); };
}

}  // namespace almond::app
