/* The solver in C, for other engines and languages: libalmond_c.
 *
 *   almond_problem* p = almond_problem_new();
 *   int body = almond_problem_add_subsystem(p, 3, A, b);
 *   almond_problem_add_contact(p, 0.5, e, body, J, -1, NULL);
 *   almond_solver* s = almond_solver_new();
 *   almond_result r;
 *   if (almond_solve(s, p, NULL, &r) != 0) puts(almond_error());
 *   const double* v = almond_velocities(s);
 *
 * Functions that can fail return a negative number or NULL, and almond_error() of the same thread says why, in one
 * line. Nothing throws, nothing is printed. A problem or a solver is for one thread at a time; different ones may be
 * used at once.
 */
#ifndef ALMOND_C_API_H
#define ALMOND_C_API_H

#include <stddef.h>

#if defined(__GNUC__)
#define ALMOND_API __attribute__((visibility("default")))
#else
#define ALMOND_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct almond_problem almond_problem;
typedef struct almond_solver almond_solver;

typedef enum { ALMOND_HARD, ALMOND_SOFT, ALMOND_EQUALITY, ALMOND_BOUNDED } almond_row_kind;

typedef enum {
  ALMOND_SOLVED,
  ALMOND_MAX_ITERATIONS,
  ALMOND_TIME_BUDGET,
  ALMOND_STALLED,
  ALMOND_INFEASIBLE,
  ALMOND_NUMERICAL_ERROR
} almond_status;

/* How a solve went. A status other than ALMOND_SOLVED is no failure of the call: the best finite answer is there. */
typedef struct {
  almond_status status;
  double residual;    /* ‖L - T(L - (Jv+e))‖ / (contacts + rows) [N s] */
  double natural_map; /* Delassus-scaled, relative to the free velocity */
  int iterations;
  double time_ms;
} almond_result;

/* Why the last call of this thread failed; "" after none has. Valid until the next one fails. */
ALMOND_API const char* almond_error(void);
ALMOND_API const char* almond_version(void);
/* solved, max-iterations, ... */
ALMOND_API const char* almond_status_name(almond_status status);

/* ---- Problems: A v = b + J'L and the law of each constraint. */

ALMOND_API almond_problem* almond_problem_new(void);
ALMOND_API void almond_problem_free(almond_problem* problem); /* NULL is allowed */
/* Empties it and keeps the memory. */
ALMOND_API void almond_problem_clear(almond_problem* problem);

/* A free body or a whole robot: A (dofs x dofs, symmetric), b (dofs). Returns its index. */
ALMOND_API int almond_problem_add_subsystem(almond_problem* problem, int dofs, const double* A, const double* b);
/* A contact between one subsystem and the ground (second = -1, J_second NULL), or between two. J: 3 x dofs, row by row,
 * in the order t1, t2, n; J v is the velocity that opens the gap; e: bias (t1, t2, n), gap / dt for n. Returns its
 * index. */
ALMOND_API int almond_problem_add_contact(almond_problem* problem, double mu, const double e[3], int first,
                                          const double* J_first, int second, const double* J_second);
/* A constraint of one row, J: dofs numbers. hard: 0 <= L _|_ Jv + e >= 0; soft: L = -k e - b Jv; equality: Jv + e = 0;
 * bounded: |L| <= limit opposes Jv + e. What a kind does not use is ignored; limit 0 or less: none. Impulses come in
 * the order contacts, hard, soft, equality, bounded. Returns its index within its kind. */
ALMOND_API int almond_problem_add_row(almond_problem* problem, almond_row_kind kind, double e, double k, double b,
                                      double limit, int first, const double* J_first, int second,
                                      const double* J_second);

ALMOND_API int almond_problem_num_dofs(const almond_problem* problem);
ALMOND_API int almond_problem_num_contacts(const almond_problem* problem);
/* Length of the impulses: 3 per contact, then rows. */
ALMOND_API int almond_problem_num_rows(const almond_problem* problem);

/* ---- Solvers: settings and memory. */

ALMOND_API almond_solver* almond_solver_new(void);
ALMOND_API void almond_solver_free(almond_solver* solver); /* NULL is allowed */
/* One setting by name, as on the command line: "solver" "canal", "tol" "1e-9", "budget_ms" "0.5". 0, or -1. */
ALMOND_API int almond_solver_set(almond_solver* solver, const char* name, const char* value);

/* Checks the problem and solves it. start: impulses to begin from, or NULL. 0, or -1 where the problem is wrong. */
ALMOND_API int almond_solve(almond_solver* solver, const almond_problem* problem, const double* start,
                            almond_result* result);
/* Of the last solve, owned by the solver, until the next: num_dofs and num_rows numbers. */
ALMOND_API const double* almond_velocities(const almond_solver* solver);
ALMOND_API const double* almond_impulses(const almond_solver* solver);

#ifdef __cplusplus
}
#endif

#endif
