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

void bind(MujocoSolver& s, nb::handle model, nb::handle data) {
  const Busy busy(s.busy, "this stepper");
  const auto numbers = [](nb::handle owner, const char* name) { return array_of<Column<double>>(owner, name).data(); };
  const auto rows = [](nb::handle owner, const char* name) { return array_of<Table<double>>(owner, name).data(); };
  const auto indices = [](nb::handle owner, const char* name) { return array_of<Column<int>>(owner, name).data(); };
  const auto results = [](nb::handle owner, const char* name) { return array_of<Writable>(owner, name).data(); };
  Bound& b = s.bound;
  const std::size_t n = array_of<Column<int>>(model, "dof_treeid").shape(0);
  for (const char* name : {"qvel", "qfrc_smooth", "qacc"})
    if (const std::size_t size = array_of<Column<double>>(data, name).shape(0); size != n)
      raise_value_error(std::string(name) + ": has " + std::to_string(size) + " entries, expected " +
                        std::to_string(n) + "; is data of this model?");
  b.n = static_cast<int>(n);
  const std::array names = {"geom_margin", "body_margin", "pair_margin", "jnt_margin", "tendon_margin"};
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto values = array_of<Writable>(model, names[k]);
    Bound::Margin& margin = *margins_of(b)[k];
    margin.values = values.data();
    margin.size = static_cast<int>(values.shape(0));
    margin.extra.assign(values.shape(0), 0.0);
  }
  const auto sizes = array_of<WritableTable>(model, "geom_size");
  b.sizes.values = sizes.data();
  b.sizes.size = static_cast<int>(sizes.shape(0) * sizes.shape(1));
  b.sizes.extra.assign(static_cast<std::size_t>(b.sizes.size), 0.0);
  b.geom_type = indices(model, "geom_type");
  b.geom_body = indices(model, "geom_bodyid");
  b.body_root = indices(model, "body_rootid");
  b.pair_geom1 = indices(model, "pair_geom1");
  b.pair_geom2 = indices(model, "pair_geom2");
  b.joint_dof = indices(model, "jnt_dofadr");
  b.joint_type = indices(model, "jnt_type");
  b.geom_radius = numbers(model, "geom_rbound");
  b.geom_position = rows(data, "geom_xpos");
  b.subtree_com = rows(data, "subtree_com");
  b.tendon_velocity = numbers(data, "ten_velocity");
  b.treeid = indices(model, "dof_treeid");
  b.M = {numbers(data, "M"), indices(model, "M_rownnz"), indices(model, "M_rowadr"), indices(model, "M_colind"), b.n};
  b.D = {nullptr, indices(model, "D_rownnz"), indices(model, "D_rowadr"), indices(model, "D_colind"), b.n};
  b.derivatives = static_cast<int>(array_of<Column<int>>(model, "D_colind").shape(0));
  b.damping = numbers(model, "dof_damping");
  b.dampingpoly = rows(model, "dof_dampingpoly");
  b.poly = static_cast<int>(array_of<Table<double>>(model, "dof_dampingpoly").shape(1));
  b.qvel = numbers(data, "qvel");
  b.cvel = rows(data, "cvel");
  b.force = numbers(data, "qfrc_smooth");
  b.awake = indices(data, "tree_awake");
  b.eq_type = indices(model, "eq_type");
  b.eq_objtype = indices(model, "eq_objtype");
  b.eq_obj1 = indices(model, "eq_obj1id");
  b.eq_obj2 = indices(model, "eq_obj2id");
  b.eq_data = rows(model, "eq_data");
  b.eq_stride = static_cast<int>(array_of<Table<double>>(model, "eq_data").shape(1));
  b.site_body = indices(model, "site_bodyid");
  b.body_mocap = indices(model, "body_mocapid");
  b.joint_stiffness = numbers(model, "jnt_stiffness");
  b.body_parent = indices(model, "body_parentid");
  b.body_dof = indices(model, "body_dofadr");
  b.body_dofs = indices(model, "body_dofnum");
  b.joint_q = indices(model, "jnt_qposadr");
  b.qpos0 = numbers(model, "qpos0");
  b.qpos = numbers(data, "qpos");
  b.cdof_dot = rows(data, "cdof_dot");
  b.body_position = rows(data, "xpos");
  b.body_rotation = rows(data, "xmat");
  b.site_position = rows(data, "site_xpos");
  b.site_rotation = rows(data, "site_xmat");
  b.qfrc_constraint = results(data, "qfrc_constraint");
  b.qacc = results(data, "qacc");
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
  for (Bound::Margin* margin : margins_of(b)) {
    std::copy(margin->kept.begin(), margin->kept.end(), margin->values);
    margin->kept.clear();  // a second call changes nothing
  }
}

}  // namespace almond::python
