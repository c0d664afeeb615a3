#pragma once
// A sparse matrix by rows, as problem files carry it. Entries of a row may be unordered; repeated columns add up.

#include <vector>

#include "almond/base/types.hpp"

namespace almond {

struct Csr {
  int rows = 0, cols = 0;
  std::vector<int> start;     // (rows + 1)
  std::vector<int> column;    // (entries)
  std::vector<double> value;  // (entries)

  [[nodiscard]] static Csr empty(int rows, int cols) {
    return Csr{rows, cols, std::vector<int>(static_cast<std::size_t>(rows) + 1, 0), {}, {}};
  }
};

}  // namespace almond
