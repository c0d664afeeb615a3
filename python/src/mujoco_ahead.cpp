// Where MuJoCo's arrays are, and margins that let it find contacts before they touch.

#include <algorithm>
#include <array>
#include <cmath>

#include "mujoco.hpp"

namespace almond::python {
namespace {

// Beyond what the present speed covers: a distance in any case, and what accelerations may add meanwhile.
constexpr double kLookAhead = 1e-3, kAccelerations = 20.0;  // [m/s², rad/s²]

// Of two boxes that touch by less than rounding tilts them, MuJoCo finds one corner of the face, now this and now that.
// Larger boxes overlap, and it finds all four; contacts get their distance back.
constexpr double kSwell = 5e-7;  // [m]
constexpr int kBox = 6;          // mjGEOM_BOX

std::array<Bound::Margin*, 6> margins_of(Bound& b) {
  return {&b.geoms, &b.bodies, &b.pairs, &b.joints, &b.tendons, &b.sizes};
}

/// The speed of the fastest point of a geom; its body's velocity is given at the centre of mass of its tree.
double speed_of(const Bound& b, int geom) {
  using Map3 = Eigen::Map<const Vec3>;
  const int body = b.geom_body[geom];
  const Map3 turning(b.cvel + 6 * body), velocity(b.cvel + 6 * body + 3), p(b.geom_position + 3 * geom);
  const Vec3 arm = p - Map3(b.subtree_com + 3 * b.body_root[body]);
  return (velocity + turning.cross(arm)).norm() + turning.norm() * b.geom_radius[geom];
}

/// By how much each margin is to be wider, so that contacts and limits are found that may be reached within the step.
void set_extra(Bound& b, double dt) {
  const auto reach = [&](double speed, double share) {
    const double way = std::isfinite(speed) ? 1.5 * dt * speed : 0.0;
    return way + share * (kLookAhead + kAccelerations * dt * dt);
  };
  std::fill(b.bodies.extra.begin(), b.bodies.extra.end(), 0.0);
  for (int g = 0; g < b.geoms.size; ++g) {
    b.geoms.extra[g] = reach(speed_of(b, g), 0.5);  // margins of two geoms add up
    double& body = b.bodies.extra[b.geom_body[g]];
    body = std::max(body, b.geoms.extra[g]);
  }
  for (int k = 0; k < b.pairs.size; ++k)
    b.pairs.extra[k] = b.geoms.extra[b.pair_geom1[k]] + b.geoms.extra[b.pair_geom2[k]];
  for (int k = 0; k < b.joints.size; ++k) {
    const double* v = b.qvel + b.joint_dof[k];
    const bool ball = b.joint_type[k] == 1;  // mjJNT_BALL
    b.joints.extra[k] = reach(ball ? Vec3(v[0], v[1], v[2]).norm() : std::abs(v[0]), 1.0);
  }
  for (int g = 0; g < b.geoms.size; ++g)
    std::fill_n(b.sizes.extra.begin() + 3 * g, 3, b.geom_type[g] == kBox ? kSwell : 0.0);
  for (int k = 0; k < b.tendons.size; ++k) b.tendons.extra[k] = reach(std::abs(b.tendon_velocity[k]), 1.0);
}

}  // namespace

void bind(MujocoSolver& s, const std::vector<Writable>& margins, const Column<int>& geom_type,
          const Column<int>& geom_body, const Column<int>& body_root, const Column<int>& pair_geom1,
          const Column<int>& pair_geom2, const Column<int>& joint_dof, const Column<int>& joint_type,
          const Column<double>& geom_radius, const Table<double>& geom_position, const Table<double>& subtree_com,
          const Column<double>& tendon_velocity, const Column<int>& treeid, const Column<double>& M,
          const Column<int>& M_rownnz, const Column<int>& M_rowadr, const Column<int>& M_colind,
          const Column<int>& D_rownnz, const Column<int>& D_rowadr, const Column<int>& D_colind,
          const Column<double>& damping, const Table<double>& dampingpoly, const Column<double>& qvel,
          const Table<double>& cvel, const Column<double>& force, const Column<int>& awake, Writable qfrc_constraint,
          Writable qacc) {
  const Busy busy(s.busy, "this stepper");
  const auto n = treeid.shape(0);
  for (const auto& [size, name] :
       {std::pair(qvel.shape(0), "qvel"), std::pair(force.shape(0), "qfrc_smooth"), std::pair(qacc.shape(0), "qacc"),
        std::pair(damping.shape(0), "dof_damping"), std::pair(M_rownnz.shape(0), "M_rownnz")})
    if (size != n)
      raise_value_error(std::string(name) + ": has " + std::to_string(size) + " entries, expected " +
                        std::to_string(n) + "; is data of this model?");
  Bound& b = s.bound;
  b.n = static_cast<int>(n);
  std::size_t k = 0;
  for (Bound::Margin* margin : margins_of(b)) {
    margin->values = margins.at(k).data();
    margin->size = static_cast<int>(margins.at(k++).shape(0));
    margin->extra.assign(static_cast<std::size_t>(margin->size), 0.0);
  }
  b.geom_type = geom_type.data();
  b.geom_body = geom_body.data();
  b.body_root = body_root.data();
  b.pair_geom1 = pair_geom1.data();
  b.pair_geom2 = pair_geom2.data();
  b.joint_dof = joint_dof.data();
  b.joint_type = joint_type.data();
  b.geom_radius = geom_radius.data();
  b.geom_position = geom_position.data();
  b.subtree_com = subtree_com.data();
  b.tendon_velocity = tendon_velocity.data();
  b.treeid = treeid.data();
  b.M = {M.data(), M_rownnz.data(), M_rowadr.data(), M_colind.data(), b.n};
  b.D = {nullptr, D_rownnz.data(), D_rowadr.data(), D_colind.data(), b.n};
  b.derivatives = static_cast<int>(D_colind.shape(0));
  b.damping = damping.data();
  b.dampingpoly = dampingpoly.data();
  b.poly = static_cast<int>(dampingpoly.shape(1));
  b.qvel = qvel.data();
  b.cvel = cvel.data();
  b.force = force.data();
  b.awake = awake.data();
  b.qfrc_constraint = qfrc_constraint.data();
  b.qacc = qacc.data();
  s.memory.clear();
}

double widen(MujocoSolver& s, double dt) {
  Bound& b = s.bound;
  set_extra(b, dt);
  for (Bound::Margin* margin : margins_of(b)) {
    margin->kept.assign(margin->values, margin->values + margin->size);
    for (int k = 0; k < margin->size; ++k) margin->values[k] += margin->extra[k];
  }
  return b.geoms.size == 0 ? 0.0 : 2.0 * *std::max_element(b.geoms.extra.begin(), b.geoms.extra.end());
}

void narrow(MujocoSolver& s) {
  Bound& b = s.bound;
  for (const Bound::Margin* margin : margins_of(b)) std::copy(margin->kept.begin(), margin->kept.end(), margin->values);
}

}  // namespace almond::python
