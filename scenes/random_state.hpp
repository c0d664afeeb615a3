#pragma once
// Random states of a model; the seed of the generator decides everything.

#include "almond/model/model.hpp"
#include "scenes/random.hpp"

namespace almond::scenes {

/// Normal q (quaternions of unit length) and v.
inline void random_state(const Model& model, Random& random, VecX& q, VecX& v) {
  q.resize(model.num_q);
  v.resize(model.num_v);
  for (double& x : q) x = random.normal();
  for (double& x : v) x = random.normal();
  for (const Joint& joint : model.joints) {
    if (joint.kind == JointKind::kBall) q.segment<4>(joint.q_begin).normalize();
    if (joint.kind == JointKind::kFree) q.segment<4>(joint.q_begin + 3).normalize();
  }
}

}  // namespace almond::scenes
