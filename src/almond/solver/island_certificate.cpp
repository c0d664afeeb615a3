#include "almond/solver/island_certificate.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/cone.hpp"

namespace almond {

void add_to_certificate(const Island& island, const double* lambda, const MeasureWorkspace& measured, double& worst,
                        Certificate& out) {
  for (int i = 0; i < island.num_contacts; ++i) {
    const Constraint& c = island.constraints[i];
    const double *l = lambda + 3 * i, *w = &measured.w[3 * i];
    const double mu = island.mu[i], w_bar = island.w_bar[i];
    const double slide = std::sqrt(w[0] * w[0] + w[1] * w[1]), shear = std::sqrt(l[0] * l[0] + l[1] * l[1]);
    out.normal_violation = std::max(out.normal_violation, -w[2]);
    out.complementarity = std::max(out.complementarity, std::abs(l[2] * w[2]));
    out.cone_violation = std::max({out.cone_violation, -l[2], shear - mu * l[2]});
    out.slip_error = std::max(out.slip_error, std::abs(mu * l[2] * slide + l[0] * w[0] + l[1] * w[1]));
    const bool open = l[2] <= 0.0, slip = !open && shear >= mu * l[2] * (1.0 - 1e-6) && slide > 1e-9 * w_bar * l[2];
    const ContactMode mode = open ? ContactMode::kOpen : slip ? ContactMode::kSlip : ContactMode::kStick;
    out.mode[c.index] = mode;
    ++out.modes[static_cast<int>(mode)];
    Vec3 projected;
    Vec3 x = Vec3(l[0], l[1], l[2]) - Vec3(w[0], w[1], w[2] + mu * slide) / w_bar;
    project_prox(mu, x, projected);
    const double map = w_bar * (Vec3(l[0], l[1], l[2]) - projected).norm();
    if (map > worst) {
      worst = map;
      out.worst_constraint = c.index;
    }
  }
  for (int i = island.num_contacts; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    const int k = island.row_index(i);
    const double l = lambda[c.row], w = measured.w[c.row] + island.compliance[k] * l, w_bar = island.w_bar[i];
    const double map = std::abs(w_bar * (l - std::clamp(l - w / w_bar, island.lower[k], island.upper[k])));
    out.row_violation = std::max(out.row_violation, map);
    if (map > worst) {
      worst = map;
      out.worst_constraint = c.index;
    }
  }
}

bool add_inert(const Contact& contact, int index, double& worst, Residuals& sum, Certificate& out) {
  const Vec3& e = contact.e;
  Vec3 prox, strict;
  project_prox(contact.mu, -e - Vec3(0.0, 0.0, contact.mu * e.head<2>().norm()), prox);
  project_strict(contact.mu, -e, strict);
  sum.natural2 += prox.squaredNorm();
  sum.residual2 += strict.squaredNorm();
  out.normal_violation = std::max(out.normal_violation, -e[2]);
  ++out.modes[static_cast<int>(ContactMode::kOpen)];
  if (prox.norm() > worst) {
    worst = prox.norm();
    out.worst_constraint = index;
  }
  return e[2] >= 0.0;
}

}  // namespace almond
