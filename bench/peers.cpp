#include "bench/peers.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/npz.hpp"
#include "almond/solver/certificate.hpp"
#include "bench/process.hpp"
#include "bench/scripts.hpp"

namespace almond::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kDropBelow = 1e-13;  // blocks of W below this, relative to its diagonal, are rounding

using Block = Eigen::Matrix3d;

/// A side of a contact with A⁻¹Jᵀ of its subsystem.
struct Arm {
  int contact;
  MatXr J;  // (3 x dofs)
  MatX Y;   // (dofs x 3)
};

/// Rows of W as 3x3 blocks: W(i)[k] = Σ_j J_ij A_j⁻¹ J_kjᵀ.
std::vector<std::map<int, Block>> make_delassus(const ContactProblem& problem, VecX& q) {
  const int m = problem.num_contacts();
  std::vector<std::map<int, Block>> W(static_cast<std::size_t>(m));
  std::vector<std::vector<Arm>> arms(problem.subsystems.size());
  for (int i = 0; i < m; ++i) {
    const Contact& contact = problem.contacts[static_cast<std::size_t>(i)];
    q.segment<3>(3 * i) = contact.e;
    for (int s = 0; s < contact.num_sides; ++s) {
      const Side& side = contact.sides[static_cast<std::size_t>(s)];
      arms[static_cast<std::size_t>(side.subsystem)].push_back({i, problem.J(side, 3), {}});
    }
  }
  for (std::size_t j = 0; j < arms.size(); ++j) {
    if (arms[j].empty()) continue;
    const Eigen::LLT<MatX> factor(problem.A(static_cast<int>(j)));
    const VecX free = factor.solve(problem.b_of(static_cast<int>(j)));
    for (Arm& arm : arms[j]) {
      arm.Y = factor.solve(arm.J.transpose());
      q.segment<3>(3 * arm.contact) += arm.J * free;
    }
    for (const Arm& row : arms[j]) {
      for (const Arm& column : arms[j]) {
        auto [at, is_new] = W[static_cast<std::size_t>(row.contact)].try_emplace(column.contact, Block::Zero());
        at->second.noalias() += row.J * column.Y;
      }
    }
  }
  return W;
}

/// The better of the points at hand; a peer is given credit for the best iterate of all its runs.
void judge_peer(const BenchProblem& problem, const std::string& path, Run& run) {
  const NpzArchive archive = NpzArchive::read(path);
  const auto& times = std::get<std::vector<double>>(archive.at("times_ms").data);
  const auto& counts = std::get<std::vector<std::int64_t>>(archive.at("iterations").data);
  const auto& lambdas = std::get<std::vector<double>>(archive.at("lambdas").data);
  const Eigen::Index rows = problem.problem.num_rows();
  require(static_cast<Eigen::Index>(lambdas.size()) == rows * static_cast<Eigen::Index>(times.size()),
          path + ": lambdas do not fit the problem");
  std::vector<TracePoint> points;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const VecX lambda = MapConstVec(lambdas.data() + rows * static_cast<Eigen::Index>(k), rows);
    const Certificate c = make_certificate(problem.problem, compute_velocity(problem.problem, lambda), lambda);
    const int count = static_cast<int>(counts[k]);
    points.push_back({times[k], count, c.natural_map, c.residual});
    if (std::isnan(run.certificate.natural_map) || c.natural_map < run.certificate.natural_map) {
      run.certificate = c;
      run.iterations = count;
      run.time_ms = times[k];
    }
  }
  finish_curve(std::move(points), run);
}

Run empty_run(const Peer& peer, const BenchProblem& problem) {
  Run run;
  run.problem = problem.name;
  run.solver = peer.name;
  run.peer = true;
  run.contacts = problem.problem.num_contacts();
  run.dofs = problem.problem.num_dofs();
  return run;
}

std::string describe_failure(const ProcessResult& result) {
  if (result.timed_out && result.errors == kInterruptedText) return kInterruptedText;
  if (result.timed_out) return kHung;
  if (result.exit_code < 0) return "crashed with signal " + std::to_string(-result.exit_code);
  if (result.exit_code > 0) return "failed: " + result.errors;
  return "";
}

}  // namespace

void check_peers(const std::string& selection) {
  static const std::vector<std::string> kSelections = {"all", "none", "siconos", "pinocchio"};
  if (std::find(kSelections.begin(), kSelections.end(), selection) == kSelections.end()) {
    const std::string near = nearest_name(selection, kSelections);
    throw Error("--peers " + quote(selection) + ": expected all, none, siconos or pinocchio" +
                (near.empty() ? "" : "; did you mean " + near + "?"));
  }
}

std::vector<Peer> find_peers(const std::string& selection, std::vector<std::string>& notes) {
  check_peers(selection);
  std::vector<Peer> peers;
  std::string why;
  if (selection == "all" || selection == "siconos") {
    const std::string python = find_siconos_python();
    const std::string script = find_script("peers_siconos.py");
    if (can_import(python, "siconos.numerics", why)) {
      for (const char* solver : {"nsgs", "nsn", "admm"})
        peers.push_back({std::string("siconos-") + solver, python, script, solver});
    } else {
      notes.push_back("Siconos is left out (Debian packages python3-siconos and python3-numpy): " + why);
    }
  }
  if (selection == "all" || selection == "pinocchio") {
    const std::string script = find_script("peers_pinocchio.py");
    const std::string python = find_python();
    if (can_import(python, "scipy, pinocchio", why)) {
      for (const char* solver : {"admm", "pgs"})
        peers.push_back({std::string("pinocchio-") + solver, python, script, solver});
    } else {
      notes.push_back("Pinocchio is left out (PyPI packages pin and scipy): " + why);
    }
  }
  return peers;
}

bool fits_peers(const ContactProblem& problem) { return problem.num_contacts() > 0 && problem.num_scalar_rows() == 0; }

void export_delassus(const ContactProblem& problem, const std::string& path) {
  const int m = problem.num_contacts();
  VecX q = VecX::Zero(3 * m), mu(m);
  const std::vector<std::map<int, Block>> W = make_delassus(problem, q);
  std::vector<double> scale;
  for (int i = 0; i < m; ++i) {
    mu[i] = problem.contacts[static_cast<std::size_t>(i)].mu;
    scale.push_back(std::sqrt(W[static_cast<std::size_t>(i)].at(i).cwiseAbs().maxCoeff()));
  }
  std::vector<double> data;
  std::vector<std::int64_t> indices, indptr = {0};
  for (std::size_t i = 0; i < W.size(); ++i) {
    for (int r = 0; r < 3; ++r) {
      for (const auto& [k, block] : W[i]) {
        if (block.cwiseAbs().maxCoeff() <= kDropBelow * scale[i] * scale[static_cast<std::size_t>(k)]) continue;
        for (int c = 0; c < 3; ++c) {
          data.push_back(block(r, c));
          indices.push_back(3 * k + c);
        }
      }
      indptr.push_back(static_cast<std::int64_t>(data.size()));
    }
  }
  const std::int64_t nonzeros = static_cast<std::int64_t>(data.size()), rows = 3 * m;
  NpzArchive archive;
  archive.set("W_data", {{nonzeros}, std::move(data)});
  archive.set("W_indices", {{nonzeros}, std::move(indices)});
  archive.set("W_indptr", {{rows + 1}, std::move(indptr)});
  archive.set("W_shape", {{2}, std::vector<std::int64_t>{rows, rows}});
  archive.set("q", NpzArray(q));
  archive.set("mu", NpzArray(mu));
  archive.write(path);
}

Run run_peer(const Peer& peer, const BenchProblem& problem, const std::string& exported, double budget_ms) {
  Run run = empty_run(peer, problem);
  const std::string answer = exported + "." + peer.name + ".npz";
  // The ladder, the tolerances and the bisection repeat solves of up to the budget, each in up to two storages.
  const ProcessResult result = run_process(
      {peer.python, peer.script, "--solver", peer.solver, "--budget-ms", to_text(budget_ms), exported, answer},
      60e3 + 60.0 * budget_ms);
  run.failure = describe_failure(result);
  if (fs::exists(answer)) {
    judge_peer(problem, answer, run);
  } else if (run.failure.empty()) {
    run.failure = kTooLarge;
  }
  return run;
}

std::vector<Run> run_peer_once(const Peer& peer, const std::vector<BenchProblem>& problems, int max_iterations,
                               double tolerance, double timeout_ms) {
  const TemporaryFolder folder;
  std::vector<std::string> command = {peer.python, peer.script,       "--solver",
                                      peer.solver, "--once",          std::to_string(max_iterations),
                                      "--tol",     to_text(tolerance)};
  std::vector<std::string> answers;
  for (std::size_t k = 0; k < problems.size(); ++k) {
    const std::string stem = folder.path() + "/" + std::to_string(k);
    export_delassus(problems[k].problem, stem + ".in.npz");
    answers.push_back(stem + ".out.npz");
    command.push_back(stem + ".in.npz");
    command.push_back(answers.back());
  }
  const ProcessResult result = run_process(command, timeout_ms);
  std::vector<Run> runs;
  for (std::size_t k = 0; k < problems.size(); ++k) {
    runs.push_back(empty_run(peer, problems[k]));
    if (fs::exists(answers[k])) {
      judge_peer(problems[k], answers[k], runs.back());
    } else {
      runs.back().failure = describe_failure(result);
    }
  }
  return runs;
}

}  // namespace almond::bench
