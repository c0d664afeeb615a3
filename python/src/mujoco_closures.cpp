// Equalities: how loops turn within a step, and rows of theirs that say nothing of their own.

#include <cmath>

#include "mujoco.hpp"

namespace almond::python {
namespace {

using Map3 = Eigen::Map<const Vec3>;
using Map33 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;

enum Kind : int { kConnect, kWeld, kJoint };  // mjtEq
constexpr int kBodyObject = 1;                // mjOBJ_BODY; else a site
constexpr double kMostPull = 10.0;  // [m/s, rad/s] by which a mocap body changes a velocity in a step, at most

/// Accelerations [angular; linear] of all bodies at v̇ = 0, at the centre of mass of their trees.
void set_accelerations(Bound& b) {
  b.acceleration.setZero(6, b.bodies.size);
  for (int body = 1; body < b.bodies.size; ++body) {
    auto a = b.acceleration.col(body);
    a = b.acceleration.col(b.body_parent[body]);
    for (int j = b.body_dof[body]; j < b.body_dof[body] + b.body_dofs[body]; ++j)
      a += b.qvel[j] * Eigen::Map<const Vec6>(b.cdof_dot + 6 * j);
  }
}

/// Acceleration at v̇ = 0 of the point p of a body.
Vec3 point_bias(const Bound& b, int body, const Vec3& p) {
  const Vec3 arm = p - Map3(b.subtree_com + 3 * b.body_root[body]), turning = Map3(b.cvel + 6 * body);
  const Vec3 velocity = Map3(b.cvel + 6 * body + 3) + turning.cross(arm);
  const auto a = b.acceleration.col(body);
  return a.tail<3>() + a.head<3>().cross(arm) + turning.cross(velocity);
}

/// One end of a connect or weld.
struct End {
  int body = 0;
  Vec3 p = Vec3::Zero();
};

End end_of(const Bound& b, int equality, int k) {
  const int object = (k == 0 ? b.eq_obj1 : b.eq_obj2)[equality];
  if (b.eq_objtype[equality] != kBodyObject) return {b.site_body[object], Map3(b.site_position + 3 * object)};
  const int at = b.eq_type[equality] == kWeld ? 3 * (1 - k) : 3 * k;  // a weld names the anchor of its second body
  const Map3 anchor(b.eq_data + b.eq_stride * equality + at);
  return {object, Map3(b.body_position + 3 * object) + Map33(b.body_rotation + 9 * object) * anchor};
}

/// J̇v of the rows of an equality: how their velocities change while nothing accelerates. Of tendons and flexes it is
/// not known, and taken for zero.
Vec6 curvature_of(const Bound& b, int equality) {
  Vec6 out = Vec6::Zero();
  const double* data = b.eq_data + b.eq_stride * equality;
  const int type = b.eq_type[equality];
  if (type == kConnect || type == kWeld) {
    const End first = end_of(b, equality, 0), second = end_of(b, equality, 1);
    out.head<3>() = point_bias(b, first.body, first.p) - point_bias(b, second.body, second.p);
    if (type == kWeld) {
      // Their rows are torquescale / 2 times the relative velocity in the second frame, where both frames agree.
      const bool bodies = b.eq_objtype[equality] == kBodyObject;
      const int site = b.eq_obj2[equality];
      const Map33 R(bodies ? b.body_rotation + 9 * second.body : b.site_rotation + 9 * site);
      const Vec3 turn = (b.acceleration.col(first.body) - b.acceleration.col(second.body)).head<3>();
      out.tail<3>() = 0.5 * data[10] * (R.transpose() * turn);
    }
  } else if (type == kJoint && b.eq_obj2[equality] >= 0) {  // q1 = c0 + c1 x + c2 x² + c3 x³ + c4 x⁴
    const int joint = b.eq_obj2[equality], at = b.joint_q[joint];
    const double x = b.qpos[at] - b.qpos0[at], v = b.qvel[b.joint_dof[joint]];
    out[0] = -(2.0 * data[2] + x * (6.0 * data[3] + x * 12.0 * data[4])) * v * v;
  }
  return out;
}

}  // namespace

bool follows_mocap(const Bound& b, const Origin& origin) {
  const auto equality = static_cast<int>(origin.key_b);
  if (b.eq_type[equality] != kConnect && b.eq_type[equality] != kWeld) return false;
  for (const int* objects : {b.eq_obj1, b.eq_obj2}) {
    const int object = objects[equality];
    if (b.body_mocap[b.eq_objtype[equality] == kBodyObject ? object : b.site_body[object]] >= 0) return true;
  }
  return false;
}

void set_curvatures(MujocoSolver& s) {
  if (s.equality.empty()) return;
  set_accelerations(s.bound);
  std::int64_t last = -1;
  Vec6 curvature = Vec6::Zero();
  for (std::size_t k = 0; k < s.equality.size(); ++k) {
    const Origin& origin = s.origins[s.equality[k]];
    if (origin.key_b != last) curvature = curvature_of(s.bound, static_cast<int>(origin.key_b));
    last = origin.key_b;
    if (origin.key_c < 6) s.problem.equality[k].e += 0.5 * s.dt * curvature[origin.key_c];
  }
}

int closure_of(const Bound& b, const Origin& origin) {
  const bool turns = b.eq_type[origin.key_b] == kWeld && origin.key_c >= 3;
  return 2 * static_cast<int>(origin.key_b) + (turns ? 1 : 0);
}

void soften_loops(MujocoSolver& s) {
  s.closure.clear();
  for (const int i : s.equality) s.closure.push_back(closure_of(s.bound, s.origins[i]));
  if (!soften_equalities(s.closure, s.independence, s.problem)) return;
  const int left_out = static_cast<int>(s.equality.size() - s.problem.soft.size());
  int next = s.problem.num_rows() - static_cast<int>(s.problem.bounded.size() + s.problem.soft.size());
  const int first = next;
  for (std::size_t i = 0; i < s.equality.size(); ++i) {
    Origin& origin = s.origins[s.equality[i]];
    origin.first = s.independence.kept[i] != 0 ? next++ : -1;
    if (origin.first < 0 || !origin.follows || origin.correction == 0.0) continue;
    Row& row = s.problem.soft[origin.first - first];  // into a wall it leads with a force that has an end
    row.limit = kMostPull * kClosureCompliance * row.b;
  }
  for (const int i : s.bounded) s.origins[i].first -= left_out;
}

}  // namespace almond::python
