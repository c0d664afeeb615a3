#pragma once
// Robots of the package example-robot-data as parts of scenes: the Panda arm, and what it carries.

#include <array>

#include "almond/load/robot_file.hpp"
#include "almond/task/gripper.hpp"
#include "almond/task/impedance.hpp"
#include "scenes/scene.hpp"

namespace almond::scenes {

/// Franka's usual pose: the hand in front of the arm, pointing down.
inline constexpr std::array<double, 7> kPandaReady = {0.0, -0.785398, 0.0, -2.356194, 0.0, 1.570796, 0.785398};

struct PandaOptions {
  Pose X_WF;          // of its base
  bool hand = false;  // with its own hand and fingers
  std::string name;   // "name/" before all names; empty: nothing
  std::array<double, 7> q = kPandaReady;
  double finger = 0.04;  // of each finger, from where they meet [m]: wide open
  // Of the joints, as in Franka's own examples of impedance control [N m/rad, N m s/rad].
  std::array<double, 7> stiffness = {600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0};
  std::array<double, 7> damping = {50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0};
};

/// What a Panda became: the arm, held by impedance drives with the effort limits of its file.
struct Panda {
  std::vector<int> joints, drives;  // of the arm, from the base on
  VecX max_velocity;                // of the joints [rad/s]
  int flange = -1;                  // body to fix things on, z out of it
  int first_body = 0, end_body = 0;
  Gripper gripper;  // of its own hand
};

/// Throws Error that says how to install it where example-robot-data is absent.
Panda add_panda(ModelBuilder& builder, const PandaOptions& options);

/// What is only seen of a robot of example-robot-data, without the shapes that collide.
[[nodiscard]] std::vector<Look> read_looks(const std::string& file, FileOptions options);
/// How it looks, where it is the first robot of a model: white, as Franka's are, with dark fingers.
[[nodiscard]] std::vector<Look> panda_looks(const PandaOptions& options);

inline constexpr Color kDark = {0.20, 0.21, 0.23, 1.0}, kZinc = {0.80, 0.62, 0.25, 1.0};
/// The shapes that a body collides with, in a colour.
void paint(const Model& model, int body, const Color& color, std::vector<Look>& looks);

/// Torques of the arm that push with `force` at the frame [N, world]. A target off the frame would push in other
/// directions as well, since an arm that is soft in its joints is not equally soft in all of them.
void push_arm(Simulation& sim, const Panda& panda, const BodyFrame& frame, const Vec3& force);

/// Stiffness and damping of Franka's own controller by default.
void make_stiff(PandaOptions& options);

/// Pairs of bodies from `first` on to before `end` that overlap where the model starts never collide: links that touch
/// by design, and what is mounted on them. Call it when all of them have their shapes.
void exclude_overlaps(ModelBuilder& builder, int first, int end);

}  // namespace almond::scenes
