#pragma once
// The other half of a SubADMM iteration, constraint by constraint: y -> λ and s = y + 2λ, with the closed forms
//
//   contact   λ = T_strict(-(Σ_j y_j + ê) / |Z|)                                           (38)
//   row       λ = clamp(-(Σ_j y_j + ê) / (|Z| + βc), lower/√β, upper/√β)                    (36), (37)
//
// in units of √β (ê = √β e). Four contacts at a time: their three components are transposed in registers, so there is
// one square root and one division for four, and no branch. Constraints with one side come first, then those with two;
// each list of contacts is filled up to a multiple of four with dummies that live behind the last row of y and s.

#include <vector>

#include "almond/solver/island.hpp"
#include "almond/solver/lanes.hpp"
#include "almond/solver/node_map.hpp"

namespace almond {

struct Slacks {
  static constexpr int kGroup = 4;           // contacts or rows per unit of work
  static constexpr int kExtra = 2 * kLanes;  // numbers behind the rows of y and s: dummies, and loads that run over

  int single_units = 0, double_units = 0, row_units = 0;
  int num_rows = 0;                           // one-component rows
  std::vector<int> constraint;                // (4 contact units) constraint, -1: dummy; then (rows)
  std::vector<int> a, b;                      // first padded row of each side; b = a where there is one side
  LineVector e;                               // (4 per contact) ê and a zero; then one per row
  LineVector mu;                              // (contacts)
  std::vector<double> inverse, lower, upper;  // (rows)

  [[nodiscard]] int num_units() const { return single_units + double_units + row_units; }
  [[nodiscard]] int contact_units() const { return single_units + double_units; }
};

void lay_out(const Island& island, const NodeMaps& maps, Slacks& slacks);
/// ê and the bounds for √β per constraint.
void set_penalty(const Island& island, const std::vector<double>& sqrt_beta, Slacks& slacks);
/// s from y for the units [begin, end).
void project(const Slacks& slacks, int begin, int end, const double* y, double* s);
/// λ of y in natural units and the island's order.
void export_lambda(const Island& island, const Slacks& slacks, const std::vector<double>& sqrt_beta, const double* y,
                   double* lambda);

}  // namespace almond
