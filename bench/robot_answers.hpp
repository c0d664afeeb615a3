#pragma once
// What we make of a robot file, as JSON for a script that asks another library about the same file. The benchmark
// `robots` and the oracles in Python ask here.

#include <string>

namespace almond::bench {

/// The answer to one request, both one line of JSON. Request:
///   {"file",                 .urdf, or MJCF
///    "base",                 URDF: fixed (default) or floating
///    "meshes",               none (default) or hulls
///    "seeds": [..],          random states
///    "motion": {"seed", "seconds", "thetas": [..], "steps", "most", "budget_s"},   ends of a free motion, in `steps`
///                            steps and twice as many until they converge, at most `most` and in about `budget_s` (may
///                            be left out) for each theta
///    "export"}               write the model as MJCF to this file
/// Answer: {"model": what the reader made of it, "states": [{"q", "v", "poses", "M", "f", "c"}], "motion": {"q", "v",
/// "ends": [{"theta", "steps", "poses"}]}}, or {"file", "error"}. States and motions are free: gravity, inertia and
/// armature only, without limits, dampers, friction, drives, closures and contacts. Of an MJCF file q and v are
/// MuJoCo's numbers and poses are those of its bodies, of a URDF file both are ours.
[[nodiscard]] std::string answer_robot_request(const std::string& request);

}  // namespace almond::bench
