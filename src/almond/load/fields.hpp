#pragma once
// Checked access to the fields of a problem file: dtype, shape and range of every value, with one clear line if wrong.

#include <string>
#include <vector>

#include "almond/load/csr.hpp"
#include "almond/load/npz.hpp"

namespace almond {

class FieldReader {
 public:
  explicit FieldReader(const NpzArchive& archive) : archive_(archive) {}

  [[nodiscard]] bool has(const std::string& name) const { return archive_.has(name); }
  /// "path: field "name"", the start of every message about a field.
  [[nodiscard]] std::string where(const std::string& name) const;

  /// Finite numbers of any one-dimensional length.
  [[nodiscard]] std::vector<double> doubles(const std::string& name) const;
  /// Finite numbers of exactly this shape; `meaning` says why that shape is expected.
  [[nodiscard]] std::vector<double> doubles(const std::string& name, const std::vector<std::int64_t>& shape,
                                            const std::string& meaning) const;
  /// Numbers >= `least` (or > with `strict`), else as doubles().
  [[nodiscard]] std::vector<double> doubles_from(const std::string& name, std::int64_t size, double least, bool strict,
                                                 const std::string& meaning) const;
  /// Integers in [low, high] of this shape; a negative extent accepts any.
  [[nodiscard]] std::vector<int> integers(const std::string& name, const std::vector<std::int64_t>& shape,
                                          std::int64_t low, std::int64_t high, const std::string& meaning) const;
  /// `name` dense (rows x cols), or CSR as name_data, name_indices, name_indptr, name_shape.
  [[nodiscard]] Csr matrix(const std::string& name, std::int64_t rows, std::int64_t cols,
                           const std::string& meaning) const;
  [[nodiscard]] bool has_matrix(const std::string& name) const { return has(name) || has(name + "_data"); }
  [[nodiscard]] std::string text(const std::string& name) const;

 private:
  [[nodiscard]] std::vector<double> all_doubles(const std::string& name) const;
  [[nodiscard]] Csr csr(const std::string& name, std::int64_t rows, std::int64_t cols,
                        const std::string& meaning) const;

  const NpzArchive& archive_;
};

/// Names of all fields that problem files may hold.
[[nodiscard]] const std::vector<std::string>& known_fields();

}  // namespace almond
