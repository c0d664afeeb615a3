#include "almond/load/fclib.hpp"

#include "almond/base/check.hpp"

#ifdef ALMOND_HAVE_HDF5

#include <algorithm>
#include <cmath>

#include "almond/base/text.hpp"
#include "almond/load/delassus.hpp"
#include "almond/load/hdf5_file.hpp"
#include "almond/load/problem_parts.hpp"

namespace almond {
namespace {

// Storage codes of FCLIB's sparse matrices; any value >= 0 is the number of triplets.
constexpr int kColumns = -1, kRows = -2;

struct Triplets {
  int rows = 0, cols = 0;
  std::vector<int> row, col;
  std::vector<double> value;
};

void check_indices(const Hdf5File& file, const std::string& name, const std::vector<int>& values, int high) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] >= 0 && values[k] < high) continue;
    throw Error(file.where(name) + "[" + std::to_string(k) + "] = " + std::to_string(values[k]) + ", expected 0 to " +
                std::to_string(high - 1));
  }
}

/// Expands compressed pointers (one range of entries per row or column) into one index per entry.
std::vector<int> expand_pointers(const Hdf5File& file, const std::string& name, const std::vector<int>& pointer,
                                 int count, std::size_t entries) {
  require(pointer.size() == static_cast<std::size_t>(count) + 1,
          file.where(name) + ": " + std::to_string(pointer.size()) + " values, expected " +
              std::to_string(std::int64_t{count} + 1));
  std::vector<int> index;
  require(pointer.front() == 0 && pointer.back() >= 0 && static_cast<std::size_t>(pointer.back()) <= entries,
          file.where(name) + ": runs from " + std::to_string(pointer.front()) + " to " +
              std::to_string(pointer.back()) + ", expected 0 to " + std::to_string(entries) + " at most");
  for (int c = 0; c < count; ++c) {
    require(pointer[c] <= pointer[c + 1] && pointer[c + 1] <= pointer.back(),
            file.where(name) + "[" + std::to_string(c + 1) + "] = " + std::to_string(pointer[c + 1]) +
                ", expected at least the value before, " + std::to_string(pointer[c]));
    index.insert(index.end(), static_cast<std::size_t>(pointer[c + 1] - pointer[c]), c);
  }
  return index;
}

Triplets read_matrix(const Hdf5File& file, const std::string& group) {
  Triplets matrix;
  matrix.rows = file.integer(group + "/m");
  matrix.cols = file.integer(group + "/n");
  require(matrix.rows >= 0 && matrix.cols >= 0, file.where(group) + ": size " + std::to_string(matrix.rows) + " x " +
                                                    std::to_string(matrix.cols) + ", expected >= 0");
  const int nz = file.integer(group + "/nz");
  require(nz >= kRows, file.where(group + "/nz") + " = " + std::to_string(nz) +
                           ", expected -2 (rows), -1 (columns) or the number of triplets");
  std::vector<int> pointer = file.integers(group + "/p"), index = file.integers(group + "/i");
  matrix.value = file.doubles(group + "/x");
  const std::size_t entries = std::min(index.size(), matrix.value.size());
  if (nz >= 0) {
    const auto count = static_cast<std::size_t>(nz);
    require(count <= entries && count <= pointer.size(),
            file.where(group + "/nz") + " = " + std::to_string(nz) + " triplets, but only " +
                std::to_string(std::min(entries, pointer.size())) + " are there");
    pointer.resize(count);
    index.resize(count);
    matrix.row = std::move(index);
    matrix.col = std::move(pointer);
  } else {
    std::vector<int> expanded =
        expand_pointers(file, group + "/p", pointer, nz == kRows ? matrix.rows : matrix.cols, entries);
    index.resize(expanded.size());
    matrix.row = std::move(index);
    matrix.col = std::move(expanded);
    if (nz == kRows) std::swap(matrix.row, matrix.col);
  }
  matrix.value.resize(matrix.row.size());
  check_indices(file, group + (nz == kRows ? "/p" : "/i"), matrix.row, matrix.rows);
  check_indices(file, group + (nz == kColumns || nz >= 0 ? "/p" : "/i"), matrix.col, matrix.cols);
  return matrix;
}

void append_triplets(Triplets& to, const Triplets& from, int row, int col, bool transpose) {
  for (std::size_t k = 0; k < from.value.size(); ++k) {
    to.row.push_back(row + (transpose ? from.col[k] : from.row[k]));
    to.col.push_back(col + (transpose ? from.row[k] : from.col[k]));
    to.value.push_back(from.value[k]);
  }
}

Csr to_csr(const Triplets& triplets) {
  Csr matrix = Csr::empty(triplets.rows, triplets.cols);
  for (const int row : triplets.row) ++matrix.start[row + 1];
  for (int row = 0; row < triplets.rows; ++row) matrix.start[row + 1] += matrix.start[row];
  std::vector<int> next(matrix.start.begin(), matrix.start.end() - 1);
  matrix.column.resize(triplets.value.size());
  matrix.value.resize(triplets.value.size());
  for (std::size_t k = 0; k < triplets.value.size(); ++k) {
    const int at = next[triplets.row[k]]++;
    matrix.column[at] = triplets.col[k];
    matrix.value[at] = triplets.value[k];
  }
  return matrix;
}

/// Row of our order (t1, t2, n) for a row of FCLIB's (n, t1, t2); rows behind the contacts stay.
int our_row(int row, int contact_rows) { return row < contact_rows ? row - row % 3 + (row % 3 + 2) % 3 : row; }

std::vector<double> reorder(const std::vector<double>& values) {
  std::vector<double> ours(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ours[our_row(static_cast<int>(i), static_cast<int>(values.size()))] = values[i];
  }
  return ours;
}

std::vector<double> read_mu(const Hdf5File& file, const std::string& root) {
  const int dim = file.has(root + "/spacedim") ? file.integer(root + "/spacedim") : 3;
  require(dim == 3, file.where(root + "/spacedim") + " = " + std::to_string(dim) + ", expected 3");
  std::vector<double> mu = file.doubles(root + "/vectors/mu");
  for (std::size_t i = 0; i < mu.size(); ++i) {
    require(mu[i] >= 0.0,
            file.where(root + "/vectors/mu") + "[" + std::to_string(i) + "] = " + to_text(mu[i]) + ", expected >= 0");
  }
  require(mu.size() < (std::size_t{1} << 28), file.where(root + "/vectors/mu") + ": too many contacts");
  return mu;
}

std::vector<double> read_vector(const Hdf5File& file, const std::string& name, std::int64_t size,
                                const std::string& meaning) {
  std::vector<double> values = file.doubles(name);
  require(static_cast<std::int64_t>(values.size()) == size, file.where(name) + ": " + std::to_string(values.size()) +
                                                                " values, expected " + std::to_string(size) + ": " +
                                                                meaning);
  return values;
}

void require_size(const Hdf5File& file, const std::string& name, const Triplets& matrix, int rows, int cols,
                  const std::string& meaning) {
  require(matrix.rows == rows && matrix.cols == cols,
          file.where(name) + ": is " + std::to_string(matrix.rows) + " x " + std::to_string(matrix.cols) +
              ", expected " + std::to_string(rows) + " x " + std::to_string(cols) + ": " + meaning);
}

ContactProblem read_local(const Hdf5File& file, LoadReport& report) {
  const std::string root = "fclib_local";
  const std::vector<double> mu = read_mu(file, root);
  const int rows = 3 * static_cast<int>(mu.size());
  const std::string per_contact = "three rows per contact, mu has " + std::to_string(mu.size());
  std::vector<double> q = reorder(read_vector(file, root + "/vectors/q", rows, per_contact));
  Triplets W = read_matrix(file, root + "/W");
  require_size(file, root + "/W", W, rows, rows, per_contact);
  if (file.has(root + "/V") || file.has(root + "/R")) {
    // Bilateral rows: w = W r + V s + q,  0 = Vᵀ r + R s + s0. One Delassus matrix [W V; Vᵀ R] over all rows.
    const Triplets V = read_matrix(file, root + "/V"), R = read_matrix(file, root + "/R");
    require_size(file, root + "/R", R, R.rows, R.rows, "a square matrix");
    require_size(file, root + "/V", V, rows, R.rows, "a row per row of W, a column per row of R");
    require(R.rows < (1 << 28), file.where(root + "/R") + ": too many rows");
    const std::vector<double> s = read_vector(file, root + "/vectors/s", R.rows, "one per row of R");
    append_triplets(W, V, 0, rows, false);
    append_triplets(W, V, rows, 0, true);
    append_triplets(W, R, rows, rows, false);
    W.rows = W.cols = rows + R.rows;
    q.insert(q.end(), s.begin(), s.end());
  }
  for (int& row : W.row) row = our_row(row, rows);
  for (int& col : W.col) col = our_row(col, rows);
  try {
    return make_problem_from_delassus(to_csr(W), q, mu, report);
  } catch (const Error& error) {
    throw Error(file.where(root + "/W") + ": " + error.what());
  }
}

/// A matrix with entries on one side of the diagonal only is meant to be symmetric.
void mirror_triangle(Triplets& M, LoadReport& report) {
  bool lower = false, upper = false;
  for (std::size_t k = 0; k < M.value.size(); ++k) {
    lower = lower || (M.row[k] > M.col[k] && M.value[k] != 0.0);
    upper = upper || (M.row[k] < M.col[k] && M.value[k] != 0.0);
  }
  if (lower == upper) return;
  const std::size_t entries = M.value.size();
  for (std::size_t k = 0; k < entries; ++k) {
    if (M.row[k] == M.col[k]) continue;
    const int row = M.col[k], col = M.row[k];
    const double value = M.value[k];
    M.row.push_back(row);
    M.col.push_back(col);
    M.value.push_back(value);
  }
  report.notes.push_back(std::string("M holds only its ") + (upper ? "upper" : "lower") +
                         " triangle: completed by symmetry");
}

Csr transposed(Triplets H, int contact_rows) {
  std::swap(H.rows, H.cols);
  std::swap(H.row, H.col);
  for (int& row : H.row) row = our_row(row, contact_rows);
  return to_csr(H);
}

ContactProblem read_global(const Hdf5File& file, const std::string& path, LoadReport& report) {
  const std::string root = "fclib_global";
  const std::vector<double> mu = read_mu(file, root);
  const int rows = 3 * static_cast<int>(mu.size());
  const std::string per_contact = "three columns per contact, mu has " + std::to_string(mu.size());
  Triplets M = read_matrix(file, root + "/M");
  require_size(file, root + "/M", M, M.rows, M.rows, "a square matrix");
  require(M.rows < (1 << 28), file.where(root + "/M") + ": too many rows");
  const Triplets H = read_matrix(file, root + "/H");
  require_size(file, root + "/H", H, M.rows, rows, per_contact);
  ProblemParts parts;
  parts.label = path;
  parts.asymmetry_allowed = 2.0;  // of files as they are: the symmetric part decides the energy
  parts.b = read_vector(file, root + "/vectors/f", M.rows, "one per row of M");
  const std::vector<double> w = reorder(read_vector(file, root + "/vectors/w", rows, per_contact));
  std::vector<double> eq;
  for (PartRows* part : {&parts.hard, &parts.soft, &parts.equality, &parts.bounded}) part->J = Csr::empty(0, M.rows);
  if (file.has(root + "/G")) {
    const Triplets G = read_matrix(file, root + "/G");
    require_size(file, root + "/G", G, M.rows, G.cols, "a row per row of M");
    eq = read_vector(file, root + "/vectors/b", G.cols, "one per column of G");
    parts.equality.J = transposed(G, 0);
  }
  mirror_triangle(M, report);
  parts.A = to_csr(M);
  parts.contact.J = transposed(H, rows);
  ContactProblem problem = assemble_parts(std::move(parts), report);
  for (std::size_t i = 0; i < mu.size(); ++i) {
    problem.contacts[i].mu = mu[i];
    problem.contacts[i].e = Vec3(w[3 * i], w[3 * i + 1], w[3 * i + 2]);
  }
  for (std::size_t i = 0; i < eq.size(); ++i) problem.equality[i].e = eq[i];
  return problem;
}

}  // namespace

ContactProblem read_fclib(const std::string& path, std::string bytes, LoadReport& report) {
  const Hdf5File file = Hdf5File::open(path, std::move(bytes));
  const auto named = [&](ContactProblem problem, const std::string& root) {
    // Titles of others describe whole collections.
    if (file.text(root + "/info/description") == kWrittenByUs) problem.name = file.text(root + "/info/title");
    if (problem.name == kNoName) problem.name.clear();
    return problem;
  };
  if (file.has("fclib_global")) return named(read_global(file, path, report), "fclib_global");
  if (file.has("fclib_local")) return named(read_local(file, report), "fclib_local");
  std::string found;
  for (const std::string& name : file.members("/")) found += (found.empty() ? "" : ", ") + quote(name);
  throw Error(path + ": neither group \"fclib_local\" nor \"fclib_global\" is there" +
              (found.empty() ? "" : " (there is " + found.substr(0, 200) + ")"));
}

}  // namespace almond

#else

namespace almond {

ContactProblem read_fclib(const std::string& path, std::string, LoadReport&) {
  throw Error(path + ": FCLIB files need HDF5, and this build has none (configure with -DALMOND_HDF5=ON)");
}

void write_fclib(const ContactProblem&, const std::string& path, FclibForm) {
  throw Error(path + ": FCLIB files need HDF5, and this build has none (configure with -DALMOND_HDF5=ON)");
}

}  // namespace almond

#endif  // ALMOND_HAVE_HDF5
