/* The solver from plain C: a block that sticks, one that slides, rows, and what bad input gets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "almond/c_api.h"

static int failures = 0;

static void check(int ok, const char* what) {
  if (!ok) {
    ++failures;
    printf("FAILED: %s (%s)\n", what, almond_error());
  }
}
#define CHECK(x) check((x), #x)

static void block(almond_problem* p, double push) {
  const double m = 2.0, dt = 0.01, g = 9.81;
  const double A[9] = {m, 0, 0, 0, m, 0, 0, 0, m}, b[3] = {m * dt * push * g, 0, -m * dt * g};
  const double J[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, e[3] = {0, 0, 0};
  almond_problem_clear(p);
  CHECK(almond_problem_add_subsystem(p, 3, A, b) == 0);
  CHECK(almond_problem_add_contact(p, 0.5, e, 0, J, -1, NULL) == 0);
}

int main(void) {
  almond_problem* p = almond_problem_new();
  almond_solver* s = almond_solver_new();
  almond_result r;
  const char* names[] = {"auto", "canal", "subadmm", "spn", "pgs"};
  for (int k = 0; k < 5; ++k) {
    CHECK(almond_solver_set(s, "solver", names[k]) == 0);
    block(p, 0.4);
    CHECK(almond_solve(s, p, NULL, &r) == 0 && r.status == ALMOND_SOLVED && r.residual <= 1e-8);
    CHECK(fabs(almond_velocities(s)[0]) < 1e-8);
    CHECK(fabs(almond_impulses(s)[2] - 2.0 * 0.01 * 9.81) < 1e-8);
    block(p, 0.8);
    CHECK(almond_solve(s, p, NULL, &r) == 0 && fabs(almond_velocities(s)[0] - 0.3 * 9.81 * 0.01) < 1e-8);
    CHECK(almond_problem_num_dofs(p) == 3 && almond_problem_num_contacts(p) == 1 && almond_problem_num_rows(p) == 3);
    const double start[3] = {0.0, 0.0, 0.1};
    CHECK(almond_solve(s, p, start, &r) == 0 && r.status == ALMOND_SOLVED);
  }

  /* v = 1 without a constraint: a hard row stops it at 0.2, an equality sets 0.7, dry friction takes 0.25. */
  const double A[1] = {1}, b[1] = {1}, plus[1] = {1}, minus[1] = {-1};
  struct {
    almond_row_kind kind;
    double e, k, b, limit, v;
    const double* J;
  } rows[] = {{ALMOND_HARD, 0.2, 0, 0, 0, 0.2, minus},
              {ALMOND_SOFT, 0.1, 2, 3, 0, 0.2, plus},
              {ALMOND_EQUALITY, -0.7, 0, 0, 0, 0.7, plus},
              {ALMOND_BOUNDED, 0, 0, 0, 0.25, 0.75, plus}};
  for (int k = 0; k < 4; ++k) {
    almond_problem_clear(p);
    CHECK(almond_problem_add_subsystem(p, 1, A, b) == 0);
    CHECK(almond_problem_add_row(p, rows[k].kind, rows[k].e, rows[k].k, rows[k].b, rows[k].limit, 0, rows[k].J, -1, NULL) == 0);
    CHECK(almond_solve(s, p, NULL, &r) == 0 && fabs(almond_velocities(s)[0] - rows[k].v) < 1e-8);
  }

  CHECK(almond_solver_set(s, "tool", "1") == -1 && strstr(almond_error(), "tol") != NULL);
  CHECK(almond_solver_set(s, "tol", "-1") == -1 && strstr(almond_error(), "tol") != NULL);
  CHECK(almond_solver_set(s, "tol", "one") == -1 && almond_solver_set(s, NULL, "1") == -1);
  CHECK(almond_solver_set(NULL, "tol", "1") == -1 && strstr(almond_error(), "solver") != NULL);
  const double negative[1] = {-1}, nothing[1] = {NAN};
  almond_problem_clear(p);
  CHECK(almond_problem_add_subsystem(p, 0, A, b) == -1);
  CHECK(almond_problem_add_subsystem(p, 1, NULL, b) == -1 && strstr(almond_error(), "A") != NULL);
  CHECK(almond_problem_add_row(p, ALMOND_HARD, 0, 0, 0, 0, 3, plus, -1, NULL) == -1);
  CHECK(almond_problem_add_subsystem(p, 1, negative, b) == 0);
  CHECK(almond_solve(s, p, NULL, &r) == -1 && strlen(almond_error()) > 0);
  almond_problem_clear(p);
  CHECK(almond_problem_add_subsystem(p, 1, A, nothing) == 0);
  CHECK(almond_solve(s, p, NULL, &r) == -1);
  CHECK(almond_solve(s, NULL, NULL, &r) == -1 && almond_problem_num_dofs(NULL) == -1);
  CHECK(strcmp(almond_status_name(ALMOND_INFEASIBLE), "infeasible") == 0 && strlen(almond_version()) > 0);

  almond_problem_free(p);
  almond_problem_free(NULL);
  almond_solver_free(s);
  almond_solver_free(NULL);
  if (failures == 0) puts("all checks passed");
  return failures != 0;
}
