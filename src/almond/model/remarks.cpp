#include "almond/model/remarks.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

constexpr double kOpen = 1e-6;                       // [m or rad] that a closure may be open at the start
constexpr double kOutside = 1e-9;                    // [m or rad] that a start may pass a limit by rounding
constexpr double kNoLength = 1e-12;                  // [m] below which a spring has no direction
constexpr double kLightest = 1e-9, kHeaviest = 1e9;  // [kg]
constexpr double kSmallest = 1e-6, kLargest = 1e5;   // [m]
constexpr double kLargestRatio = 1e8;
constexpr double kRoughest = 10.0;      // friction: rubber has 2, and cones grow so wide that solvers crawl
constexpr double kTriangleRule = 1e-6;  // by which moments may break it through rounding

using Remarks = std::vector<std::string>;

std::string body_name(const Model& model, int body) {
  return body < 0 ? "the ground" : "body " + quote(model.bodies[body].name);
}

std::string joint_unit(const Joint& joint) { return joint.kind == JointKind::kPrismatic ? " m" : " rad"; }

/// Poses of the bodies at the start.
std::vector<Pose> start_poses(const Model& model) {
  std::vector<Pose> X_WB(model.bodies.size());
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Joint& joint = model.joints[b];
    const Pose X_PB = joint.X_PJ * make_joint_pose(joint, model.q0.data() + joint.q_begin);
    const int parent = model.bodies[b].parent;
    X_WB[b] = parent < 0 ? X_PB : X_WB[parent] * X_PB;
  }
  return X_WB;
}

/// How far a ball joint is turned.
double ball_angle(const double* quaternion) {
  const Eigen::Map<const Vec4> q(quaternion);
  return 2.0 * std::atan2(q.tail<3>().norm(), std::abs(q[0]));
}

void remark_starts(const Model& model, Remarks& remarks) {
  for (const Joint& joint : model.joints) {
    const double* q = model.q0.data() + joint.q_begin;
    if (!is_outside(joint, q)) continue;
    if (joint.kind == JointKind::kBall)
      remarks.push_back("joint " + quote(joint.name) + ": starts turned by " + to_text(ball_angle(q)) +
                        " rad, outside its limit " + to_text(joint.upper));
    else
      remarks.push_back("joint " + quote(joint.name) + ": starts at " + to_text(*q) + joint_unit(joint) +
                        ", outside its limits " + to_text(joint.lower) + " to " + to_text(joint.upper));
  }
}

void remark_closures(const Model& model, const std::vector<Pose>& X_WB, Remarks& remarks) {
  const auto pose = [&](int body) { return body < 0 ? Pose{} : X_WB[body]; };
  for (const Closure& closure : model.closures) {
    const auto remark = [&](double error, const std::string& unit) {
      if (std::abs(error) > kOpen)
        remarks.push_back("closure " + quote(closure.name) + ": open by " + to_text(std::abs(error)) + unit +
                          " at the start");
    };
    if (closure.kind == ClosureKind::kMimic) {
      const Joint &a = model.joints[closure.a], &b = model.joints[closure.b];
      remark(model.q0[a.q_begin] - closure.ratio * model.q0[b.q_begin] - closure.offset, joint_unit(a));
      continue;
    }
    if (closure.kind == ClosureKind::kTendon) {
      const double a = tendon_position(model, model.tendons[closure.a], model.q0);
      const double b = tendon_position(model, model.tendons[closure.b], model.q0);
      remark(a - closure.ratio * b - closure.offset, "");
      continue;
    }
    const Pose X_a = pose(closure.a) * closure.X_a, X_b = pose(closure.b) * closure.X_b;
    remark((X_b.p - X_a.p).norm(), " m");
    if (closure.kind == ClosureKind::kWeld) remark(log_so3(X_a.R.transpose() * X_b.R).norm(), " rad");
  }
}

void remark_springs(const Model& model, const std::vector<Pose>& X_WB, Remarks& remarks) {
  const auto point = [&](int body, const Vec3& p) { return body < 0 ? p : Vec3(X_WB[body] * p); };
  for (const Spring& spring : model.springs) {
    const double length = (point(spring.body_b, spring.point_b) - point(spring.body_a, spring.point_a)).norm();
    if (length > kNoLength || spring.rest_length == 0.0) continue;
    remarks.push_back("spring " + quote(spring.name) + ": its ends coincide at the start and its rest length is " +
                      to_text(spring.rest_length) + " m, so its direction is arbitrary");
  }
}

void remark_pairs(const Model& model, Remarks& remarks) {
  const auto remark_own = [&](const auto& pairs, const char* what) {
    for (const auto& [a, b] : pairs)
      if (a == b)
        remarks.push_back(body_name(model, a) + ": the pair with itself is " + what +
                          ", but nothing collides with itself anyway");
  };
  remark_own(model.excluded, "excluded");
  remark_own(model.included, "included");
  // Pairs of geoms with a material of their own collide all the same.
  const auto has_own = [&](const std::pair<int, int>& bodies) {
    return std::any_of(model.pairs.begin(), model.pairs.end(), [&](const GeomPair& pair) {
      return std::pair<int, int>(std::minmax(model.geoms[pair.a].body, model.geoms[pair.b].body)) == bodies;
    });
  };
  for (const auto& pair : model.included)
    if (pair.first != pair.second && std::binary_search(model.excluded.begin(), model.excluded.end(), pair))
      remarks.push_back(body_name(model, pair.first) + " and " + body_name(model, pair.second) +
                        ": the pair is both included and excluded; " +
                        (has_own(pair) ? "only its pairs of geoms collide" : "it does not collide"));
}

void remark_masses(const Model& model, Remarks& remarks) {
  for (const Body& body : model.bodies)
    if (body.subsystem >= 0 && body.mass > 0.0 && (body.mass < kLightest || body.mass > kHeaviest))
      remarks.push_back("body " + quote(body.name) + ": mass is " + to_text(body.mass) + " kg, usual are " +
                        to_text(kLightest) + " to " + to_text(kHeaviest) + " kg");
  for (const TreeInfo& tree : model.trees) {
    const Body *light = nullptr, *heavy = nullptr;
    for (const int b : tree.bodies) {
      const Body& body = model.bodies[b];
      if (body.mass == 0.0) continue;
      if (light == nullptr || body.mass < light->mass) light = &body;
      if (heavy == nullptr || body.mass > heavy->mass) heavy = &body;
    }
    if (light == nullptr || heavy->mass <= kLargestRatio * light->mass) continue;
    remarks.push_back("body " + quote(heavy->name) + " and body " + quote(light->name) + ": a mass ratio of " +
                      to_text(heavy->mass / light->mass) + " in one tree, usual are up to " + to_text(kLargestRatio));
  }
}

/// Inertias that no real body has; files are full of them.
void remark_inertias(const Model& model, Remarks& remarks) {
  for (const Body& body : model.bodies) {
    if (body.subsystem < 0) continue;
    const Vec3 d = Eigen::SelfAdjointEigenSolver<Mat3>(body.inertia, Eigen::EigenvaluesOnly).eigenvalues();
    const std::string place = "body " + quote(body.name) + ": ";
    const std::string moments = "(" + to_text(d[0]) + ", " + to_text(d[1]) + ", " + to_text(d[2]) + ") kg m²";
    if (body.mass == 0.0) {
      if (d.cwiseAbs().maxCoeff() > 0.0)
        remarks.push_back(place + "mass is 0 but the principal moments are " + moments);
    } else if (!(d[0] > 0.0)) {
      remarks.push_back(place + "the principal moments are " + moments + ", those of a real body are > 0");
    } else if (d[0] + d[1] < d[2] * (1.0 - kTriangleRule)) {
      remarks.push_back(place + "the principal moments are " + moments +
                        ", the largest of a real body is at most the sum of the others");
    }
  }
}

void remark_sizes(const Model& model, Remarks& remarks) {
  for (const Geom& geom : model.geoms)
    if (!std::holds_alternative<Plane>(geom.shape) && (geom.radius < kSmallest || geom.radius > kLargest))
      remarks.push_back("geom " + quote(geom.name) + ": the " + shape_name(geom.shape) + " reaches " +
                        to_text(geom.radius) + " m from its origin, usual are " + to_text(kSmallest) + " to " +
                        to_text(kLargest) + " m");
}

void remark_friction(const Model& model, Remarks& remarks) {
  const Geom* roughest = nullptr;
  int others = -1;
  for (const Geom& geom : model.geoms) {
    if (geom.material.mu <= kRoughest) continue;
    if (roughest == nullptr || geom.material.mu > roughest->material.mu) roughest = &geom;
    ++others;
  }
  const auto expected = [](double mu) {
    return ": friction is " + to_text(mu) + ", usual are up to " + to_text(kRoughest);
  };
  if (roughest != nullptr)
    remarks.push_back("geom " + quote(roughest->name) + expected(roughest->material.mu) +
                      (others > 0 ? "; " + std::to_string(others) + " other geoms have more than that, too" : ""));
  for (const GeomPair& pair : model.pairs)
    if (pair.material.mu > kRoughest)
      remarks.push_back("pair of geom " + quote(model.geoms[pair.a].name) + " and geom " +
                        quote(model.geoms[pair.b].name) + expected(pair.material.mu));
}

}  // namespace

bool is_outside(const Joint& joint, const double* q) {
  if (joint.kind == JointKind::kBall) return ball_angle(q) > joint.upper + kOutside;
  return num_positions(joint.kind) == 1 && !(*q >= joint.lower - kOutside && *q <= joint.upper + kOutside);
}

std::vector<std::string> make_remarks(const Model& model) {
  Remarks remarks;
  const std::vector<Pose> X_WB = start_poses(model);
  remark_starts(model, remarks);
  remark_closures(model, X_WB, remarks);
  remark_springs(model, X_WB, remarks);
  remark_pairs(model, remarks);
  remark_masses(model, remarks);
  remark_inertias(model, remarks);
  remark_sizes(model, remarks);
  remark_friction(model, remarks);
  return remarks;
}

}  // namespace almond
