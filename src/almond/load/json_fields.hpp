#pragma once
// JSON objects read field by field, for scene files and the shapes in them: a field of the wrong type, or one that
// nobody asked for, is an error that names its place. `Json` is nlohmann::json, which headers do not include.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "almond/base/check.hpp"
#include "almond/base/pose.hpp"
#include "almond/base/text.hpp"

namespace almond {

template <class Json>
Json parse_json(const std::string& text, const std::string& place) {
  try {
    return Json::parse(text);
  } catch (const typename Json::exception& error) {
    std::string what = error.what();
    const std::size_t colon = what.find("] ");
    throw Error(place + ": is no JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2)));
  }
}

/// An object of the file whose fields are asked for by name; what nobody asked for is refused in the end.
template <class Json>
class JsonFields {
 public:
  JsonFields(const Json& value, std::string place) : value_(value), place_(std::move(place)) {
    require(value.is_object(), place_ + ": is " + value.type_name() + ", expected an object { ... }");
  }

  [[nodiscard]] std::string at(const std::string& key) const { return place_ + "." + key; }
  const Json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }
  [[nodiscard]] const std::string& place() const { return place_; }

  void read(const std::string& key, std::string& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    require(value->is_string(), at(key) + ": is " + value->dump().substr(0, 40) + ", expected a text");
    out = value->template get<std::string>();
  }
  void read(const std::string& key, double& out) {
    const Json* value = find(key);
    if (value != nullptr) out = number(*value, at(key));
  }
  void read(const std::string& key, bool& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    require(value->is_boolean(), at(key) + ": is " + value->dump().substr(0, 40) + ", expected true or false");
    out = value->template get<bool>();
  }
  template <int N>
  bool read(const std::string& key, Eigen::Matrix<double, N, 1>& out) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    const std::vector<double> list = numbers(*value, at(key));
    require(list.size() == N,
            at(key) + ": has " + std::to_string(list.size()) + " numbers, expected " + std::to_string(N));
    for (int i = 0; i < N; ++i) out[i] = list[i];
    return true;
  }

  /// Call last: a misspelt field is an error, not a default.
  void refuse_others() const {
    for (const auto& [key, value] : value_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end() || key == "$schema" || key == "comment")
        continue;
      const std::string near = nearest_name(key, known_);
      throw Error(place_ + ": field " + quote(key) + " is unknown" +
                  (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
    }
  }

  static double number(const Json& value, const std::string& place) {
    require(value.is_number(), place + ": is " + value.dump().substr(0, 40) + ", expected a number");
    const double x = value.template get<double>();
    require(std::isfinite(x), place + ": is " + to_text(x) + ", expected a finite number");
    return x;
  }
  static std::vector<double> numbers(const Json& value, const std::string& place) {
    require(value.is_array(), place + ": is " + value.dump().substr(0, 40) + ", expected a list of numbers");
    std::vector<double> list;
    for (const Json& item : value) list.push_back(number(item, place + "[" + std::to_string(list.size()) + "]"));
    return list;
  }

 private:
  const Json& value_;
  std::string place_;
  std::vector<std::string> known_;
};

/// position, and one of rpy (about the fixed axes x, y, z, in this order) and quaternion (w x y z).
template <class Json>
Pose read_pose(JsonFields<Json>& fields) {
  Pose X;
  fields.template read<3>("position", X.p);
  Vec3 rpy;
  Vec4 q;
  const bool by_angles = fields.template read<3>("rpy", rpy), by_quaternion = fields.template read<4>("quaternion", q);
  require(!by_angles || !by_quaternion, fields.place() + ": has rpy and quaternion, expected one of them");
  if (by_angles)
    X.R = exp_so3(Vec3::UnitZ() * rpy[2]) * exp_so3(Vec3::UnitY() * rpy[1]) * exp_so3(Vec3::UnitX() * rpy[0]);
  if (by_quaternion) {
    require(std::abs(q.norm() - 1.0) < 1e-3,
            fields.at("quaternion") + ": has norm " + to_text(q.norm()) + ", expected 1 (w x y z)");
    X.R = quaternion_to_matrix(q.normalized());
  }
  return X;
}

}  // namespace almond
