#pragma once
// A model run by MuJoCo, to be looked at beside ours: written as MJCF, compiled and stepped by MuJoCo's own library
// with its defaults, but for elliptic friction cones, which are nearer to Coulomb's law, and its integrator
// "implicitfast" where there are drives, whose dampers need it.

#include <memory>

#include "almond/load/robot_file.hpp"

namespace almond {

struct MujocoContact {
  int geom_a = -1, geom_b = -1;              // ours
  Vec3 p = Vec3::Zero(), n = Vec3::UnitZ();  // world; the normal points from a to b
  Vec3 force = Vec3::Zero();                 // on b, world [N]
  double gap = 0.0;                          // [m]
  double mu = 0.0;
};

/// What a step of MuJoCo says of itself.
struct MujocoStep {
  std::vector<MujocoContact> contacts;  // where the step began, with the forces found in it
  int iterations = 0;
  double step_ms = 0.0;
};

class MujocoRun {
 public:
  /// From the model's start. What MuJoCo has no counterpart for is counted in notes.ignored, its warnings go to
  /// notes.said. Throws Error with MuJoCo's message where it takes the model not at all, and without its library.
  MujocoRun(const Model& model, double time_step, FileNotes& notes);
  ~MujocoRun();
  MujocoRun(MujocoRun&&) noexcept;
  MujocoRun& operator=(MujocoRun&&) noexcept;

  /// Drives follow these inputs (drives) from the next step on. Throws Error naming a drive that MuJoCo cannot make.
  void set_drives(const VecX& target, const VecX& target_velocity, const VecX& feedforward);

  /// False, with the state left as it was, once MuJoCo's numbers have run away: there is nothing more to see then.
  bool step(MujocoStep& step);

  /// The present state in our numbers.
  void read_state(VecX& q, VecX& v) const;

  /// "MuJoCo 3.3.7, Newton, elliptic cones, Euler".
  [[nodiscard]] std::string settings() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace almond
