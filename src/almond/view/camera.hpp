#pragma once
// Where a picture is taken from.

#include "almond/base/types.hpp"

namespace almond {

struct Camera {
  Vec3 position = Vec3::Zero(), target = Vec3::Zero();  // world [m]
};

}  // namespace almond
