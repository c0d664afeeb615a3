#include "almond/c_api.h"

#include <cmath>
#include <cstdlib>
#include <exception>
#include <string>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/solver/setting_fields.hpp"
#include "almond/solver/solve.hpp"

struct almond_problem {
  almond::ContactProblem problem;
};

struct almond_solver {
  almond::Settings settings;
  almond::Workspace workspace;
  almond::Solution solution;
};

namespace almond {
namespace {

thread_local std::string last_error;

/// What is thrown becomes `failed` and a line for almond_error().
template <class Result, class F>
Result guard(Result failed, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "unknown error";
  }
  return failed;
}

template <class T>
T& need(T* pointer, const char* name) {
  require(pointer != nullptr, std::string(name) + ": is NULL");
  return *pointer;
}

void add_side(const ContactProblem& problem, int subsystem, const double* J, int rows, const char* name,
              std::vector<SideInput>& sides) {
  require(subsystem >= 0 && subsystem < static_cast<int>(problem.subsystems.size()),
          std::string(name) + ": is " + std::to_string(subsystem) + ", expected a subsystem below " +
              std::to_string(problem.subsystems.size()));
  require(J != nullptr, std::string("J_") + name + ": is NULL");
  SideInput side;
  side.subsystem = subsystem;
  side.J = MapConstMatr(J, rows, problem.subsystems[static_cast<std::size_t>(subsystem)].dofs);
  sides.push_back(std::move(side));
}

std::vector<SideInput> read_sides(const ContactProblem& problem, int first, const double* J_first, int second,
                                  const double* J_second, int rows) {
  std::vector<SideInput> sides;
  add_side(problem, first, J_first, rows, "first", sides);
  if (second != -1) add_side(problem, second, J_second, rows, "second", sides);
  return sides;
}

double to_number(const std::string& text, const std::string& place) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  require(!text.empty() && *end == '\0' && !std::isnan(value), place + ": expected a number");
  return value;
}

void set_setting(const std::string& name, const std::string& value, Settings& settings) {
  const auto found = setting_fields().find(name);
  if (found == setting_fields().end()) {
    std::vector<std::string> known;
    for (const auto& [key, field] : setting_fields()) known.push_back(key);
    const std::string near = nearest_name(name, known);
    throw Error(quote(name) + ": no such setting" + (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  const std::string place = name + " = " + quote(value);
  Settings changed = settings;
  std::visit(
      [&](auto member) {
        using Value = std::remove_reference_t<decltype(changed.*member)>;
        if constexpr (std::is_same_v<Value, double>) {
          changed.*member = to_number(value, place);
        } else if constexpr (std::is_same_v<Value, int>) {
          const double number = to_number(value, place);
          require(number == std::floor(number) && std::abs(number) < 2e9, place + ": expected a whole number");
          changed.*member = static_cast<int>(number);
        } else if constexpr (std::is_same_v<Value, bool>) {
          require(value == "0" || value == "1" || value == "true" || value == "false",
                  place + ": expected true or false");
          changed.*member = value == "1" || value == "true";
        } else if constexpr (std::is_same_v<Value, InnerSolver>) {
          changed.*member = inner_from_string(value, place);
        } else {
          changed.*member = solver_from_string(value);
        }
      },
      found->second);
  changed.validate();
  settings = changed;
}

}  // namespace
}  // namespace almond

using namespace almond;

extern "C" {

const char* almond_error(void) { return last_error.c_str(); }
const char* almond_version(void) { return ALMOND_VERSION; }
const char* almond_status_name(almond_status status) { return to_string(static_cast<Status>(status)); }

almond_problem* almond_problem_new(void) {
  return guard<almond_problem*>(nullptr, [] { return new almond_problem; });
}
void almond_problem_free(almond_problem* problem) { delete problem; }
void almond_problem_clear(almond_problem* problem) {
  if (problem != nullptr) problem->problem.clear();
}

int almond_problem_add_subsystem(almond_problem* problem, int dofs, const double* A, const double* b) {
  return guard(-1, [&] {
    ContactProblem& p = need(problem, "problem").problem;
    require(dofs > 0, "dofs: is " + std::to_string(dofs) + ", expected 1 or more");
    need(A, "A");
    need(b, "b");
    return p.add_subsystem(MapConstMat(A, dofs, dofs), MapConstVec(b, dofs));
  });
}

int almond_problem_add_contact(almond_problem* problem, double mu, const double e[3], int first, const double* J_first,
                               int second, const double* J_second) {
  return guard(-1, [&] {
    ContactProblem& p = need(problem, "problem").problem;
    need(e, "e");
    const std::vector<SideInput> sides = read_sides(p, first, J_first, second, J_second, 3);
    const Vec3 bias(e[0], e[1], e[2]);
    return sides.size() == 1 ? p.add_contact(mu, bias, sides[0]) : p.add_contact(mu, bias, sides[0], sides[1]);
  });
}

int almond_problem_add_row(almond_problem* problem, almond_row_kind kind, double e, double k, double b, double limit,
                           int first, const double* J_first, int second, const double* J_second) {
  return guard(-1, [&] {
    ContactProblem& p = need(problem, "problem").problem;
    const std::vector<SideInput> sides = read_sides(p, first, J_first, second, J_second, 1);
    const double most = limit > 0.0 ? limit : kInfinity;
    switch (kind) {
      case ALMOND_HARD:
        return p.add_hard(e, sides);
      case ALMOND_SOFT:
        return p.add_soft(e, k, b, sides, most);
      case ALMOND_EQUALITY:
        return p.add_equality(e, sides);
      case ALMOND_BOUNDED:
        return p.add_bounded(e, limit, sides);
    }
    throw Error("kind: is " + std::to_string(static_cast<int>(kind)) + ", expected ALMOND_HARD to ALMOND_BOUNDED");
  });
}

int almond_problem_num_dofs(const almond_problem* problem) {
  return problem == nullptr ? -1 : problem->problem.num_dofs();
}
int almond_problem_num_contacts(const almond_problem* problem) {
  return problem == nullptr ? -1 : problem->problem.num_contacts();
}
int almond_problem_num_rows(const almond_problem* problem) {
  return problem == nullptr ? -1 : problem->problem.num_rows();
}

almond_solver* almond_solver_new(void) {
  return guard<almond_solver*>(nullptr, [] { return new almond_solver; });
}
void almond_solver_free(almond_solver* solver) { delete solver; }

int almond_solver_set(almond_solver* solver, const char* name, const char* value) {
  return guard(-1, [&] {
    set_setting(&need(name, "name"), &need(value, "value"), need(solver, "solver").settings);
    return 0;
  });
}

int almond_solve(almond_solver* solver, const almond_problem* problem, const double* start, almond_result* result) {
  return guard(-1, [&] {
    almond_solver& s = need(solver, "solver");
    const ContactProblem& p = need(problem, "problem").problem;
    p.validate();
    Settings settings = s.settings;
    settings.warm_start = start != nullptr;
    if (start != nullptr) {
      s.solution.lambda = MapConstVec(start, p.num_rows());
      require(s.solution.lambda.allFinite(), "start: has numbers that are not finite");
    }
    const Status status = solve(p, settings, s.workspace, s.solution);
    if (result != nullptr)
      *result = {static_cast<almond_status>(status), s.solution.certificate.residual,
                 s.solution.certificate.natural_map, s.solution.info.iterations, s.solution.info.time_ms};
    return 0;
  });
}

const double* almond_velocities(const almond_solver* solver) {
  return solver == nullptr ? nullptr : solver->solution.v.data();
}
const double* almond_impulses(const almond_solver* solver) {
  return solver == nullptr ? nullptr : solver->solution.lambda.data();
}

}  // extern "C"
