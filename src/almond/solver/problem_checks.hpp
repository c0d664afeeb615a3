#pragma once
// What building and validating a problem share: naming the place of a mistake, and checks of trees.

#include <cstddef>
#include <string>

#include "almond/base/check.hpp"
#include "almond/solver/problem.hpp"

namespace almond {

/// Where something went wrong, spelled out only when it did: building a problem allocates nothing but its pools.
struct Place {
  const char* what;
  std::size_t index;
  int side = -1;
  [[nodiscard]] std::string text() const {
    std::string out = std::string(what) + " " + std::to_string(index);
    return side < 0 ? out : out + " side " + std::to_string(side);
  }
};

[[noreturn]] inline void fail(const Place& place, const std::string& message) {
  throw Error(place.text() + ": " + message);
}

inline std::string missing(const char* what, int index, int count) {
  return std::string(what) + " " + std::to_string(index) + " does not exist (there are " + std::to_string(count) + ")";
}

/// Structure of a tree: sizes, order of bodies, offsets. Throws Error.
void check_tree(const Tree& tree, const std::string& place);

/// J = J_body J_b, written row by row to `J` (rows x dofs).
void expand_body_jacobian(const Tree& tree, int body, const MapConstMatr& J_body, double* J);

}  // namespace almond
