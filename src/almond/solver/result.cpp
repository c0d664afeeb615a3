#include "almond/solver/result.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "almond/base/check.hpp"

namespace almond {
namespace {

constexpr std::array<const char*, kNumSolverKinds> kSolverNames = {
    "auto", "canal", "subadmm", "spn", "pgs", "admm-nosub", "admm-nobody", "dogleg", "damped-sn"};

/// Levenshtein distance: the least number of letters to insert, drop or change.
int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <class Value>
void check_setting(bool ok, const char* field, Value value, const char* expected) {
  if (!ok)
    throw Error(std::string("settings: ") + field + " is " + to_text(static_cast<double>(value)) + ", expected " +
                expected);
}

/// Of a limit that was set less is told than of a method that found nothing better.
int severity(Status status) {
  switch (status) {
    case Status::kSolved:
      return 0;
    case Status::kStalled:
      return 1;
    case Status::kMaxIterations:
      return 2;
    case Status::kTimeBudget:
      return 3;
    case Status::kInfeasible:
      return 4;
    case Status::kNumericalError:
      return 5;
  }
  return 5;
}

bool in_open(double value, double low, double high) { return value > low && value < high; }

}  // namespace

const char* to_string(SolverKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kSolverNames.size() ? kSolverNames[index] : "unknown";
}

SolverKind solver_from_string(const std::string& name) {
  for (std::size_t i = 0; i < kSolverNames.size(); ++i)
    if (name == kSolverNames[i]) return static_cast<SolverKind>(i);
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto nearest = std::min_element(kSolverNames.begin(), kSolverNames.end(), [&](const char* a, const char* b) {
    return edit_distance(lower, a) < edit_distance(lower, b);
  });
  if (2 * edit_distance(lower, *nearest) <= static_cast<int>(lower.size()))
    throw Error("unknown solver \"" + name + "\", did you mean \"" + *nearest + "\"?");
  std::string known;
  for (const char* other : kSolverNames) known += (known.empty() ? "" : ", ") + std::string(other);
  throw Error("unknown solver \"" + name + "\"; known: " + known);
}

Status worse(Status a, Status b) { return severity(b) > severity(a) ? b : a; }

const char* to_string(ContactMode mode) {
  return mode == ContactMode::kOpen ? "open" : mode == ContactMode::kStick ? "stick" : "slip";
}

const char* to_string(Status status) {
  switch (status) {
    case Status::kSolved:
      return "solved";
    case Status::kMaxIterations:
      return "max-iterations";
    case Status::kTimeBudget:
      return "time-budget";
    case Status::kStalled:
      return "stalled";
    case Status::kInfeasible:
      return "infeasible";
    case Status::kNumericalError:
      return "numerical-error";
  }
  return "unknown";
}

double enough_residual(const Settings& settings, int dofs) {
  return dofs > kCrowdDofs ? std::max(settings.tol, settings.crowd_tol) : settings.tol;
}

void Settings::validate() const {
  check_setting(static_cast<int>(solver) < kNumSolverKinds, "solver", static_cast<int>(solver), "0 to 8");
  check_setting(in_open(tol, 0.0, kInfinity), "tol", tol, "a finite value > 0");
  check_setting(max_iterations >= 0, "max_iterations", max_iterations, ">= 0");
  check_setting(budget_ms >= 0.0 && budget_ms < kInfinity, "budget_ms", budget_ms, "a finite value >= 0");
  check_setting(threads >= 1 && threads <= 1024, "threads", threads, "1 to 1024");
  check_setting(!fixed_iterations || max_iterations > 0, "max_iterations", max_iterations,
                ">= 1 with fixed_iterations");
  check_setting(in_open(canal_c0, 0.0, kInfinity), "canal_c0", canal_c0, "a finite value > 0");
  check_setting(in_open(canal_kappa, 1.0, kInfinity), "canal_kappa", canal_kappa, "a finite value > 1");
  check_setting(in_open(canal_zeta, 0.0, 1.0), "canal_zeta", canal_zeta, "between 0 and 1");
  check_setting(canal_c_max >= canal_c0 && canal_c_max < kInfinity, "canal_c_max", canal_c_max,
                "a finite value >= canal_c0");
  check_setting(in_open(canal_inner_tol, 0.0, 1.0), "canal_inner_tol", canal_inner_tol, "between 0 and 1");
  check_setting(canal_inner <= InnerSolver::kAcceleratedGradient, "canal_inner", static_cast<int>(canal_inner),
                "0 to 2");
  check_setting(in_open(admm_c0, 0.0, kInfinity), "admm_c0", admm_c0, "a finite value > 0");
  check_setting(in_open(admm_gamma, 1.0, kInfinity), "admm_gamma", admm_gamma, "a finite value > 1");
  check_setting(in_open(admm_relax, 0.0, 2.0), "admm_relax", admm_relax, "between 0 and 2");
  check_setting(admm_anderson >= 0 && admm_anderson <= 64, "admm_anderson", admm_anderson, "0 to 64");
  check_setting(in_open(pgs_omega, 0.0, 2.0), "pgs_omega", pgs_omega, "between 0 and 2");
  check_setting(std::isfinite(crowd_tol) && crowd_tol >= 0.0, "crowd_tol", crowd_tol, ">= 0");
  check_setting(std::isfinite(max_work) && max_work >= 0.0, "max_work", max_work, ">= 0");
  check_setting(pgs_anderson >= 0 && pgs_anderson <= 64, "pgs_anderson", pgs_anderson, "0 to 64");
}

}  // namespace almond
