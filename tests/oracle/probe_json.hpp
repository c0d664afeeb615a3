#pragma once
// Vectors and matrices as JSON, for the programs that the oracles in Python talk to.

#include <nlohmann/json.hpp>

#include "almond/base/types.hpp"

namespace almond::testing {

template <class Vector>
nlohmann::json list(const Vector& v) {
  nlohmann::json out = nlohmann::json::array();
  for (const double x : v) out.push_back(x);
  return out;
}

template <class Matrix>
nlohmann::json rows(const Matrix& m) {
  nlohmann::json out = nlohmann::json::array();
  for (Eigen::Index i = 0; i < m.rows(); ++i) out.push_back(list(VecX(m.row(i))));
  return out;
}

}  // namespace almond::testing
