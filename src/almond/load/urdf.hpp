#pragma once
// URDF robots: file -> ModelBuilder.
//
// Every link becomes a body and every joint a joint of the same name; those of the root are called "root_joint". Bodies
// come depth first, joints of one link sorted by name, which is Pinocchio's order too.
//
// URDF does not say how a robot stands. Its root link is fixed to the world unless Base::kFloating asks for a free one.
// A floating joint of the file is a free joint where nothing above it moves, and an error elsewhere; a planar one
// becomes three joints "NAME/x", "NAME/y" and "NAME/angle". A joint that moves nothing with mass is welded, and the
// notes say so, since no force would make sense on it.

#include "almond/load/robot_file.hpp"

namespace almond {

struct UrdfRobot {
  struct Motor {
    int joint = -1;               // of the model
    double effort = kInfinity;    // the file's limit [N m or N]; infinite: it gives none
    double velocity = kInfinity;  // [rad/s or m/s]
  };
  std::string name;           // in the file
  int root = -1;              // body
  std::vector<Motor> motors;  // one per revolute, continuous and prismatic joint that is not a mimic
  int num_visuals = 0;
};

/// Throws Error with file, line, element and what was expected; `builder` may then hold a part of the robot.
UrdfRobot add_urdf(ModelBuilder& builder, const std::string& path, const FileOptions& options, FileNotes& notes);

/// The same for a text; `folder` is where relative paths start.
UrdfRobot add_urdf_text(ModelBuilder& builder, const std::string& text, const std::string& folder,
                        const FileOptions& options, FileNotes& notes);

}  // namespace almond
