#include "almond/solver/slack.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/cone.hpp"

namespace almond {
namespace {

using PairLanes [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = double;

inline PairLanes* pair_pointer(double* p) { return reinterpret_cast<PairLanes*>(p); }
inline const PairLanes* pair_pointer(const double* p) { return reinterpret_cast<const PairLanes*>(p); }
#define pair_at(p) (*pair_pointer(p))

/// Four contacts with one (kTwo = false) or two sides.
template <bool kTwo>
void project_four(const int* a, const int* b, const double* e, const double* mu, const double* y, double* s) {
  HalfLanes x[4];
  for (int c = 0; c < 4; ++c) {
    x[c] = half_lanes_at(e + 4 * c) + half_lanes_at(y + a[c]);
    if constexpr (kTwo) x[c] += half_lanes_at(y + b[c]);
  }
  // Components of the four contacts side by side.
  const HalfLanes even01 = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6),
                  even23 = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6);
  const HalfLanes odd01 = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7),
                  odd23 = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
  // Twice the argument of T: λ enters s as 2λ.
  constexpr double kScale = kTwo ? -1.0 : -2.0;
  const HalfLanes t1 = kScale * __builtin_shufflevector(even01, even23, 0, 1, 4, 5);
  const HalfLanes t2 = kScale * __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5);
  const HalfLanes n = kScale * __builtin_shufflevector(even01, even23, 2, 3, 6, 7);

  const HalfLanes zero{}, one = zero + 1.0;
  const HalfLanes normal = n > zero ? n : zero;
  const HalfLanes norm2 = t1 * t1 + t2 * t2;
  alignas(32) double norm[4];
  for (int c = 0; c < 4; ++c) norm[c] = std::sqrt(norm2[c]);
  const HalfLanes radius = half_lanes_at(mu) * normal;
  const HalfLanes length = half_lanes_at(norm);
  const HalfLanes quotient = radius / length;  // NaN for 0/0, and then the comparison picks 1
  const HalfLanes scale = radius < length ? quotient : one;
  const HalfLanes l1 = scale * t1, l2 = scale * t2;
  const HalfLanes tangent02 = __builtin_shufflevector(l1, l2, 0, 4, 2, 6),
                  tangent13 = __builtin_shufflevector(l1, l2, 1, 5, 3, 7);
  const PairLanes tangent[4] = {
      __builtin_shufflevector(tangent02, tangent02, 0, 1), __builtin_shufflevector(tangent13, tangent13, 0, 1),
      __builtin_shufflevector(tangent02, tangent02, 2, 3), __builtin_shufflevector(tangent13, tangent13, 2, 3)};
  for (int c = 0; c < 4; ++c) {
    pair_at(s + a[c]) = pair_at(y + a[c]) + tangent[c];
    s[a[c] + 2] = y[a[c] + 2] + normal[c];
    if constexpr (kTwo) {
      pair_at(s + b[c]) = pair_at(y + b[c]) + tangent[c];
      s[b[c] + 2] = y[b[c] + 2] + normal[c];
    }
  }
}

double project_one(const Slacks& slacks, int row, int at, const double* y) {
  const double sum =
      slacks.e[4 * (at - row) + row] + y[slacks.a[at]] + (slacks.b[at] != slacks.a[at] ? y[slacks.b[at]] : 0.0);
  return std::min(std::max(-sum * slacks.inverse[row], slacks.lower[row]), slacks.upper[row]);
}

}  // namespace

void lay_out(const Island& island, const NodeMaps& maps, Slacks& slacks) {
  slacks.constraint.clear();
  int dummy = maps.size;
  for (const int sides : {1, 2}) {
    for (int i = 0; i < island.num_contacts; ++i) {
      if (island.constraints[i].num_sides == sides) slacks.constraint.push_back(i);
    }
    while (slacks.constraint.size() % Slacks::kGroup != 0) slacks.constraint.push_back(-1);
    const int units = static_cast<int>(slacks.constraint.size()) / Slacks::kGroup;
    (sides == 1 ? slacks.single_units : slacks.double_units) = sides == 1 ? units : units - slacks.single_units;
  }
  const int contacts = static_cast<int>(slacks.constraint.size());
  slacks.num_rows = island.num_constraints - island.num_contacts;
  for (int i = island.num_contacts; i < island.num_constraints; ++i) slacks.constraint.push_back(i);
  slacks.row_units = (slacks.num_rows + Slacks::kGroup - 1) / Slacks::kGroup;

  const int total = contacts + slacks.num_rows;
  slacks.a.resize(total);
  slacks.b.resize(total);
  slacks.e.assign(4 * contacts + slacks.num_rows, 0.0);
  slacks.mu.assign(contacts, 0.0);
  slacks.inverse.resize(slacks.num_rows);
  slacks.lower.resize(slacks.num_rows);
  slacks.upper.resize(slacks.num_rows);
  for (int k = 0; k < total; ++k) {
    const int i = slacks.constraint[k];
    if (i < 0) {  // the dummies of one list share a place of their own
      slacks.a[k] = slacks.b[k] = dummy + (k < slacks.single_units * Slacks::kGroup ? 0 : kLanes);
      continue;
    }
    slacks.a[k] = maps.slot[2 * i];
    slacks.b[k] = island.constraints[i].num_sides == 2 ? maps.slot[2 * i + 1] : slacks.a[k];
    if (i < island.num_contacts) slacks.mu[k] = island.mu[i];
  }
}

void set_penalty(const Island& island, const std::vector<double>& sqrt_beta, Slacks& slacks) {
  const int contacts = slacks.contact_units() * Slacks::kGroup;
  for (int k = 0; k < contacts; ++k) {
    const int i = slacks.constraint[k];
    for (int r = 0; r < 3 && i >= 0; ++r) slacks.e[4 * k + r] = sqrt_beta[i] * island.e[3 * i + r];
  }
  for (int row = 0; row < slacks.num_rows; ++row) {
    const int i = island.num_contacts + row;
    const Constraint& c = island.constraints[i];
    const double root = sqrt_beta[i];
    slacks.e[4 * contacts + row] = root * island.e[c.row];
    slacks.inverse[row] = 1.0 / (c.num_sides + root * root * island.compliance[row]);
    slacks.lower[row] = island.lower[row] / root;
    slacks.upper[row] = island.upper[row] / root;
  }
}

void project(const Slacks& slacks, int begin, int end, const double* y, double* s) {
  const int contact_units = slacks.contact_units(), contacts = contact_units * Slacks::kGroup;
  const auto four = [&](int unit, auto two) {
    const int k = unit * Slacks::kGroup;
    project_four<decltype(two)::value>(&slacks.a[k], &slacks.b[k], &slacks.e[4 * k], &slacks.mu[k], y, s);
  };
  int unit = begin;
  for (; unit < std::min(end, slacks.single_units); ++unit) four(unit, std::false_type{});
  for (; unit < std::min(end, contact_units); ++unit) four(unit, std::true_type{});
  const int row_end = std::min((end - contact_units) * Slacks::kGroup, slacks.num_rows);
  for (int row = (unit - contact_units) * Slacks::kGroup; row < row_end; ++row) {
    const int at = contacts + row;
    const double twice = 2.0 * project_one(slacks, row, at, y);
    const int a = slacks.a[at], b = slacks.b[at];
    s[a] = y[a] + twice;
    s[b] = y[b] + twice;  // the same again if there is one side
  }
}

void export_lambda(const Island& island, const Slacks& slacks, const std::vector<double>& sqrt_beta, const double* y,
                   double* lambda) {
  const int contacts = slacks.contact_units() * Slacks::kGroup;
  for (int k = 0; k < contacts; ++k) {
    const int i = slacks.constraint[k], a = slacks.a[k], b = slacks.b[k];
    if (i < 0) continue;
    Vec3 x = Vec3(slacks.e[4 * k] + y[a], slacks.e[4 * k + 1] + y[a + 1], slacks.e[4 * k + 2] + y[a + 2]), l;
    if (b != a) x = 0.5 * (x + Vec3(y[b], y[b + 1], y[b + 2]));
    project_strict(slacks.mu[k], -x, l);
    for (int r = 0; r < 3; ++r) lambda[3 * i + r] = sqrt_beta[i] * l[r];
  }
  for (int row = 0; row < slacks.num_rows; ++row) {
    const int i = island.num_contacts + row;
    lambda[island.constraints[i].row] = sqrt_beta[i] * project_one(slacks, row, contacts + row, y);
  }
}

}  // namespace almond
