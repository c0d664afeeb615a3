#include "almond/load/fclib.hpp"

#ifdef ALMOND_HAVE_HDF5

#include <Eigen/Cholesky>
#include <map>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/hdf5_file.hpp"

namespace almond {
namespace {

/// FCLIB's row (n, t1, t2) of our row (t1, t2, n) of a contact.
int fclib_row(int contact, int row) { return 3 * contact + (row + 1) % 3; }

struct Triplets {
  std::vector<int> row, col;
  std::vector<double> value;

  void add(int r, int c, double v) {
    if (v == 0.0) return;
    row.push_back(r);
    col.push_back(c);
    value.push_back(v);
  }
};

void write_matrix(Hdf5File& file, const std::string& group, const Triplets& matrix, int rows, int cols) {
  const auto entries = static_cast<int>(matrix.value.size());
  file.make_group(group);
  file.write(group + "/nzmax", std::vector<int>{entries});
  file.write(group + "/m", std::vector<int>{rows});
  file.write(group + "/n", std::vector<int>{cols});
  file.write(group + "/nz", std::vector<int>{entries});
  file.write(group + "/p", matrix.col);
  file.write(group + "/i", matrix.row);
  file.write(group + "/x", matrix.value);
}

void write_common(Hdf5File& file, const std::string& root, const ContactProblem& problem) {
  std::vector<double> mu;
  for (const Contact& contact : problem.contacts) mu.push_back(contact.mu);
  file.write(root + "/spacedim", std::vector<int>{3});
  file.write(root + "/vectors/mu", mu);
  file.make_group(root + "/info");
  file.write(root + "/info/title", problem.name.empty() ? std::string(kNoName) : problem.name);
  file.write(root + "/info/description", std::string(kWrittenByUs));
  file.write(root + "/info/math_info", std::string(" "));
}

void write_global(Hdf5File& file, const ContactProblem& problem) {
  const std::string root = "fclib_global";
  file.make_group(root);
  file.make_group(root + "/vectors");
  Triplets M, H, G;
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const Subsystem& sub = problem.subsystems[s];
    const MapConstMat A = problem.A(static_cast<int>(s));
    for (int r = 0; r < sub.dofs; ++r) {
      for (int c = 0; c < sub.dofs; ++c) M.add(sub.offset + r, sub.offset + c, A(r, c));
    }
  }
  const auto add_sides = [&problem](const auto& constraint, int rows, const auto& column, Triplets& to) {
    for (int s = 0; s < constraint.num_sides; ++s) {
      const Subsystem& sub = problem.subsystems[constraint.sides[s].subsystem];
      const MapConstMatr J = problem.J(constraint.sides[s], rows);
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < sub.dofs; ++c) to.add(sub.offset + c, column(r), J(r, c));
      }
    }
  };
  std::vector<double> w(3 * problem.contacts.size()), b;
  for (int i = 0; i < problem.num_contacts(); ++i) {
    add_sides(
        problem.contacts[i], 3, [i](int r) { return fclib_row(i, r); }, H);
    for (int r = 0; r < 3; ++r) w[fclib_row(i, r)] = problem.contacts[i].e[r];
  }
  for (const Row& row : problem.equality) {
    const auto column = static_cast<int>(b.size());
    add_sides(
        row, 1, [column](int) { return column; }, G);
    b.push_back(row.e);
  }
  const int n = problem.num_dofs();
  write_matrix(file, root + "/M", M, n, n);
  write_matrix(file, root + "/H", H, n, static_cast<int>(w.size()));
  if (!b.empty()) {
    write_matrix(file, root + "/G", G, n, static_cast<int>(b.size()));
    file.write(root + "/vectors/b", b);
  }
  file.write(root + "/vectors/f", problem.b);
  file.write(root + "/vectors/w", w);
  write_common(file, root, problem);
}

/// W = Σ_s J_s A_s⁻¹ J_sᵀ and q = J A⁻¹ b + e, subsystem by subsystem.
void write_local(Hdf5File& file, const ContactProblem& problem, const std::string& label) {
  const std::string root = "fclib_local";
  std::vector<std::vector<std::pair<int, const Side*>>> sides(problem.subsystems.size());
  std::vector<double> q(3 * problem.contacts.size());
  for (int i = 0; i < problem.num_contacts(); ++i) {
    const Contact& contact = problem.contacts[i];
    for (int r = 0; r < 3; ++r) q[fclib_row(i, r)] = contact.e[r];
    for (int s = 0; s < contact.num_sides; ++s) sides[contact.sides[s].subsystem].emplace_back(i, &contact.sides[s]);
  }
  std::map<std::pair<int, int>, Mat3> W;
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const auto sub = static_cast<int>(s);
    const Eigen::LLT<MatX> llt(problem.A(sub));
    require(llt.info() == Eigen::Success,
            label + ": A of subsystem " + std::to_string(sub) + " is not positive definite");
    const VecX free = llt.solve(problem.b_of(sub));
    for (const auto& [i, side] : sides[s]) {
      const MapConstMatr J = problem.J(*side, 3);
      const Vec3 velocity = J * free;
      for (int r = 0; r < 3; ++r) q[fclib_row(i, r)] += velocity[r];
      const MatX response = llt.solve(J.transpose());
      for (const auto& [j, other] : sides[s]) {
        const Mat3 block = problem.J(*other, 3) * response;
        const auto [at, is_new] = W.try_emplace({j, i}, Mat3::Zero());
        at->second += block;
      }
    }
  }
  Triplets triplets;
  for (const auto& [key, block] : W) {
    // Both triangles from one: W is then symmetric to the last bit.
    if (key.first > key.second) continue;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        const double value = key.first == key.second ? 0.5 * (block(r, c) + block(c, r)) : block(r, c);
        triplets.add(fclib_row(key.first, r), fclib_row(key.second, c), value);
        if (key.first != key.second) triplets.add(fclib_row(key.second, c), fclib_row(key.first, r), value);
      }
    }
  }
  file.make_group(root);
  file.make_group(root + "/vectors");
  const int rows = 3 * problem.num_contacts();
  write_matrix(file, root + "/W", triplets, rows, rows);
  file.write(root + "/vectors/q", q);
  write_common(file, root, problem);
}

}  // namespace

void write_fclib(const ContactProblem& problem, const std::string& path, FclibForm form) {
  const bool equalities = form == FclibForm::kGlobal || problem.equality.empty();
  require(problem.hard.empty() && problem.soft.empty() && problem.bounded.empty() && equalities,
          path + ": has " + std::to_string(problem.num_scalar_rows()) +
              " rows that are not contacts; FCLIB holds contacts and, in the global form, equality rows: use .npz");
  Hdf5File file = Hdf5File::create(path);
  if (form == FclibForm::kGlobal)
    write_global(file, problem);
  else
    write_local(file, problem, path);
  write_file(path, file.bytes());
}

}  // namespace almond

#endif  // ALMOND_HAVE_HDF5
