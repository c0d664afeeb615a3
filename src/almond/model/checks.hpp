#pragma once
// What the files of the builder check alike: one line with the element, the value and what was expected.

#include <cmath>
#include <string>
#include <unordered_set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/model/model.hpp"

namespace almond::checks {

inline constexpr double kUnitTolerance = 1e-6;  // of rotation matrices, quaternions and the triangle rule of inertias

inline std::string label(const char* what, const std::string& name) { return std::string(what) + " " + quote(name); }

/// By its number where it has no name.
inline std::string label(const char* what, const std::string& name, std::size_t number) {
  return name.empty() ? std::string(what) + " " + std::to_string(number) : label(what, name);
}

inline void check_finite(double value, const std::string& place, const char* field) {
  require(std::isfinite(value), place + ": " + field + " is " + to_text(value) + ", expected a finite value");
}

inline void check_at_least_zero(double value, const std::string& place, const char* field) {
  require(std::isfinite(value) && value >= 0.0,
          place + ": " + field + " is " + to_text(value) + ", expected finite and >= 0");
}

/// Kinds are enumerators, but a cast makes one of any number.
template <class Kind>
inline void check_kind(Kind kind, Kind last, const std::string& place, const char* field, const char* expected) {
  require(kind <= last,
          place + ": " + field + " is " + std::to_string(static_cast<int>(kind)) + ", expected " + expected);
}

inline std::string vector_text(const Vec3& v) {
  return "(" + to_text(v.x()) + ", " + to_text(v.y()) + ", " + to_text(v.z()) + ")";
}

inline std::string list_text(const VecX& v) {
  std::string text;
  for (const double x : v) text += (text.empty() ? "" : ", ") + to_text(x);
  return text;
}

inline void check_vector(const Vec3& v, const std::string& place, const char* field) {
  require(v.allFinite(), place + ": " + field + " is " + vector_text(v) + ", expected finite values");
}

inline void check_pose(const Pose& X, const std::string& place, const char* field) {
  check_vector(X.p, place, field);
  const double error = (X.R.transpose() * X.R - Mat3::Identity()).cwiseAbs().maxCoeff();
  require(X.R.allFinite() && error <= kUnitTolerance && X.R.determinant() > 0.0,
          place + ": the rotation of " + field + " is not one: RᵀR differs from 1 by " + to_text(error) +
              ", the determinant is " + to_text(X.R.determinant()) + ", expected 0 and 1");
}

inline void check_name(const std::unordered_set<std::string>& taken, const std::string& name, const char* what) {
  require(!name.empty(), std::string(what) + " " + std::to_string(taken.size()) + ": the name is empty, expected one");
  require(taken.find(name) == taken.end(), label(what, name) + ": the name is taken, expected a new one");
}

inline bool is_one_dof(JointKind kind) { return num_velocities(kind) == 1; }

inline void check_index(int index, std::size_t count, bool ground, const std::string& place, const char* what) {
  require(
      index < static_cast<int>(count) && index >= (ground ? kGround : 0),
      place + ": " + what + " " + std::to_string(index) + " does not exist (there are " + std::to_string(count) + ")");
}

}  // namespace almond::checks
