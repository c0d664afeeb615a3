#pragma once
// What a page asks of a live simulation.

#include <string>

#include "almond/base/types.hpp"

namespace almond {

/// A hand that pulls at a point of a body.
struct Drag {
  int body = -1;
  Vec3 local = Vec3::Zero(), target = Vec3::Zero();
};

struct Command {
  enum class Kind : std::uint8_t { kPlay, kPause, kStep, kReset, kSet, kDefaults, kDrag, kRelease } kind = Kind::kPause;
  std::string name;
  double value = 0.0;
  std::string text;
  std::string viewer;  // whose hand it is
  Drag drag;
};

/// From JSON, as Live::post() takes it. Throws Error naming what was not understood.
[[nodiscard]] Command parse_command(const std::string& text);

}  // namespace almond
