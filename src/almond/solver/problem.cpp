#include "almond/solver/problem.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "almond/base/check.hpp"
#include "almond/base/tree.hpp"
#include "almond/solver/problem_checks.hpp"

namespace almond {
namespace {

std::string size_text(Eigen::Index rows, Eigen::Index cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

/// Pools are indexed by int: a pool that would outgrow it is refused instead of wrapping around.
int pool_start(const std::vector<double>& pool, Eigen::Index added, const Place& place) {
  const auto size = static_cast<std::int64_t>(pool.size()) + static_cast<std::int64_t>(added);
  if (size > std::numeric_limits<int>::max()) fail(place, "the problem exceeds 2^31 matrix entries");
  return static_cast<int>(pool.size());
}

template <class Matrix>
bool all_finite(const Matrix& matrix) {
  return matrix.size() == 0 || matrix.allFinite();
}

int append(std::vector<double>& pool, const double* data, Eigen::Index count, const Place& place) {
  const int start = pool_start(pool, count, place);
  pool.insert(pool.end(), data, data + count);
  return start;
}

/// Sizes and indices of a side against the problem as it stands.
void check_side(const ContactProblem& problem, const SideInput& side, int rows, const Place& place) {
  const auto count = static_cast<int>(problem.subsystems.size());
  if (side.subsystem < 0 || side.subsystem >= count) fail(place, missing("subsystem", side.subsystem, count));
  const Subsystem& sub = problem.subsystems[side.subsystem];
  const bool has_J = side.J.size() > 0 || side.body < 0;
  if (has_J && (side.J.rows() != rows || side.J.cols() != sub.dofs))
    fail(place, "J is " + size_text(side.J.rows(), side.J.cols()) + ", expected " + size_text(rows, sub.dofs));
  if (side.body < 0) return;
  if (sub.tree < 0)
    fail(place, "body " + std::to_string(side.body) + " is named but subsystem " + std::to_string(side.subsystem) +
                    " has no tree");
  const int bodies = problem.trees[sub.tree].num_bodies();
  if (side.body >= bodies) fail(place, missing("body", side.body, bodies));
  if (side.J_body.rows() != rows || side.J_body.cols() != 6)
    fail(place, "J_body is " + size_text(side.J_body.rows(), side.J_body.cols()) + ", expected " + size_text(rows, 6));
}

Side store_side(ContactProblem& problem, const SideInput& input, int rows, const Place& place) {
  Side side;
  side.subsystem = input.subsystem;
  const Subsystem& sub = problem.subsystems[input.subsystem];
  if (input.body >= 0) {
    side.body = input.body;
    side.J_body_start = append(problem.J_pool, input.J_body.data(), input.J_body.size(), place);
  }
  if (input.J.size() > 0 || input.body < 0) {
    side.J_start = append(problem.J_pool, input.J.data(), input.J.size(), place);
  } else {
    const Eigen::Index count = static_cast<Eigen::Index>(rows) * sub.dofs;
    side.J_start = pool_start(problem.J_pool, count, place);
    problem.J_pool.resize(problem.J_pool.size() + static_cast<std::size_t>(count));
    expand_body_jacobian(problem.trees[sub.tree], side.body, problem.J_body(side, rows),
                         problem.J_pool.data() + side.J_start);
  }
  return side;
}

int add_contact_sides(ContactProblem& problem, double mu, const Vec3& e, const SideInput* const* sides, int count) {
  const std::size_t index = problem.contacts.size();
  for (int s = 0; s < count; ++s) check_side(problem, *sides[s], 3, {"contact", index, s});
  Contact contact;
  contact.mu = mu;
  contact.e = e;
  contact.num_sides = count;
  for (int s = 0; s < count; ++s) contact.sides[s] = store_side(problem, *sides[s], 3, {"contact", index, s});
  problem.contacts.push_back(contact);
  return static_cast<int>(index);
}

int add_row(ContactProblem& problem, std::vector<Row>& pool, const char* kind, Row row,
            const std::vector<SideInput>& sides) {
  const std::size_t index = pool.size();
  if (sides.empty() || sides.size() > 2)
    fail({kind, index}, "has " + std::to_string(sides.size()) + " sides, expected 1 or 2");
  row.num_sides = static_cast<int>(sides.size());
  for (int s = 0; s < row.num_sides; ++s) check_side(problem, sides[s], 1, {kind, index, s});
  for (int s = 0; s < row.num_sides; ++s) row.sides[s] = store_side(problem, sides[s], 1, {kind, index, s});
  pool.push_back(row);
  return static_cast<int>(index);
}

template <class Constraint>
void write_rows(const ContactProblem& problem, const Constraint& constraint, int rows, int first, MatX& J) {
  for (int s = 0; s < constraint.num_sides; ++s) {
    const Subsystem& sub = problem.subsystems[constraint.sides[s].subsystem];
    J.block(first, sub.offset, rows, sub.dofs) += problem.J(constraint.sides[s], rows);
  }
}

/// Calls f(row) over the scalar rows in λ's order.
template <class Function>
void for_each_row(const ContactProblem& problem, Function f) {
  for (const auto* pool : {&problem.hard, &problem.soft, &problem.equality, &problem.bounded})
    for (const Row& row : *pool) f(row);
}

// ---------------------------------------------------------------- make_problem

/// The finest partition into consecutive blocks that has all of A's entries inside.
std::vector<int> find_blocks(const MatX& A) {
  const auto n = static_cast<int>(A.rows());
  std::vector<int> offsets = {0};
  int reach = 0;  // last index coupled to anything before
  for (int i = 0; i < n; ++i) {
    for (int j = n - 1; j > std::max(reach, i); --j)
      if (A(i, j) != 0.0 || A(j, i) != 0.0) reach = j;
    if (reach <= i) {
      offsets.push_back(i + 1);
      reach = i + 1;
    }
  }
  return offsets;
}

/// Blocks that the three rows of contact i touch.
std::vector<int> touched_blocks(const MatX& J, int contact, const std::vector<int>& offsets) {
  std::vector<int> touched;
  for (std::size_t block = 0; block + 1 < offsets.size(); ++block) {
    const int begin = offsets[block], count = offsets[block + 1] - begin;
    if ((J.block(3 * contact, begin, 3, count).array() != 0.0).any()) touched.push_back(static_cast<int>(block));
  }
  return touched;
}

bool at_most_two(const MatX& J, const std::vector<int>& offsets) {
  for (int i = 0; i < J.rows() / 3; ++i)
    if (touched_blocks(J, i, offsets).size() > 2) return false;
  return true;
}

/// Every `size` dofs one block, if that keeps the given blocks whole.
std::vector<int> uniform_blocks(const std::vector<int>& fine, int size) {
  std::vector<int> offsets;
  if (fine.back() % size != 0) return offsets;
  for (int offset = 0; offset <= fine.back(); offset += size)
    if (std::binary_search(fine.begin(), fine.end(), offset)) offsets.push_back(offset);
  return static_cast<int>(offsets.size()) == fine.back() / size + 1 ? offsets : std::vector<int>{};
}

/// Subsystems for a matrix that came without offsets. A diagonal mass matrix falls apart into single dofs, which
/// contacts join again: bodies of 6 or points of 3 are tried first, then blocks are merged until no contact touches
/// three.
std::vector<int> guess_offsets(const MatX& A, const MatX& J) {
  std::vector<int> offsets = find_blocks(A);
  if (at_most_two(J, offsets)) return offsets;
  for (const int size : {6, 3}) {
    const std::vector<int> uniform = uniform_blocks(offsets, size);
    if (!uniform.empty() && at_most_two(J, uniform)) return uniform;
  }
  for (int i = 0; i < J.rows() / 3; ++i) {
    const std::vector<int> touched = touched_blocks(J, i, offsets);
    if (touched.size() > 2) offsets.erase(offsets.begin() + touched.front() + 1, offsets.begin() + touched.back() + 1);
  }
  return offsets;
}

void check_matrices(const MatX& A, const VecX& b, const MatX& J, const VecX& e, const VecX& mu) {
  const Eigen::Index n = A.rows(), m = mu.size();
  require(A.cols() == n, "A: is " + size_text(A.rows(), A.cols()) + ", expected a square matrix");
  require(b.size() == n, "b: has " + std::to_string(b.size()) + " values, expected " + std::to_string(n));
  require(J.rows() == 3 * m && (J.cols() == n || m == 0),
          "J: is " + size_text(J.rows(), J.cols()) + ", expected " + size_text(3 * m, n));
  require(e.size() == 3 * m, "e: has " + std::to_string(e.size()) + " values, expected " + std::to_string(3 * m));
  require(all_finite(A), "A: is not finite");
  require(all_finite(J), "J: is not finite");
}

void check_offsets(const MatX& A, const std::vector<int>& offsets) {
  const auto n = static_cast<int>(A.rows());
  require(offsets.front() == 0 && offsets.back() == n,
          "subsystem_offsets: run from " + std::to_string(offsets.front()) + " to " + std::to_string(offsets.back()) +
              ", expected 0 to " + std::to_string(n));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    require(offsets[s] < offsets[s + 1], "subsystem_offsets: entry " + std::to_string(s + 1) + " is " +
                                             std::to_string(offsets[s + 1]) + ", expected > " +
                                             std::to_string(offsets[s]));
    const int begin = offsets[s], end = offsets[s + 1];
    const bool clean = (A.block(begin, 0, end - begin, begin).array() == 0.0).all() &&
                       (A.block(begin, end, end - begin, n - end).array() == 0.0).all();
    require(clean, "subsystem " + std::to_string(s) + ": A couples it to another subsystem");
  }
}

}  // namespace

void expand_body_jacobian(const Tree& tree, int body, const MapConstMatr& J_body, double* J) {
  const Eigen::Index rows = J_body.rows(), dofs = tree.num_dofs();
  std::fill(J, J + rows * dofs, 0.0);
  for (int up = body; up >= 0; up = tree.parent[up])
    for (int k = tree.dof_offset[up]; k < tree.dof_offset[up + 1]; ++k)
      for (Eigen::Index r = 0; r < rows; ++r) J[r * dofs + k] = J_body.row(r).dot(tree.S.col(k));
}

MapConstMat ContactProblem::A(int subsystem) const {
  const Subsystem& sub = subsystems[subsystem];
  return {A_pool.data() + sub.A_start, sub.dofs, sub.dofs};
}

MapConstVec ContactProblem::b_of(int subsystem) const {
  return {b.data() + subsystems[subsystem].offset, subsystems[subsystem].dofs};
}

MapConstMatr ContactProblem::J(const Side& side, int rows) const {
  return {J_pool.data() + side.J_start, rows, subsystems[side.subsystem].dofs};
}

MapConstMatr ContactProblem::J_body(const Side& side, int rows) const {
  return {J_pool.data() + side.J_body_start, rows, 6};
}

void ContactProblem::clear() {
  name.clear();
  subsystems.clear();
  A_pool.clear();
  b.clear();
  trees.clear();
  contacts.clear();
  for (auto* pool : {&hard, &soft, &equality, &bounded}) pool->clear();
  J_pool.clear();
  v0.clear();
  lambda0.clear();
}

int ContactProblem::add_subsystem(const Eigen::Ref<const MatX>& A_in, const Eigen::Ref<const VecX>& b_in) {
  const Place place{"subsystem", subsystems.size()};
  if (A_in.rows() == 0) fail(place, "has 0 dofs, expected >= 1");
  if (A_in.rows() != A_in.cols())
    fail(place, "A is " + size_text(A_in.rows(), A_in.cols()) + ", expected a square matrix");
  if (b_in.size() != A_in.rows())
    fail(place, "b has " + std::to_string(b_in.size()) + " values, expected " + std::to_string(A_in.rows()));
  Subsystem sub;
  sub.dofs = static_cast<int>(A_in.rows());
  sub.offset = pool_start(b, b_in.size(), place);
  sub.A_start = pool_start(A_pool, A_in.size(), place);
  for (Eigen::Index c = 0; c < A_in.cols(); ++c) A_pool.insert(A_pool.end(), A_in.col(c).begin(), A_in.col(c).end());
  b.insert(b.end(), b_in.begin(), b_in.end());
  subsystems.push_back(sub);
  return static_cast<int>(subsystems.size()) - 1;
}

int ContactProblem::add_tree(const Tree& tree, const Eigen::Ref<const VecX>& b_in) {
  check_tree(tree, Place{"subsystem", subsystems.size()}.text() + " tree");
  MatX composed(tree.num_dofs(), tree.num_dofs());
  std::vector<Mat6> scratch;
  compose(tree, tree.M, tree.diagonal, scratch, composed);
  const int index = add_subsystem(composed, b_in);
  subsystems[index].tree = static_cast<int>(trees.size());
  trees.push_back(tree);
  return index;
}

int ContactProblem::add_contact(double mu, const Vec3& e, const SideInput& side0) {
  const SideInput* sides[] = {&side0};
  return add_contact_sides(*this, mu, e, sides, 1);
}

int ContactProblem::add_contact(double mu, const Vec3& e, const SideInput& side0, const SideInput& side1) {
  const SideInput* sides[] = {&side0, &side1};
  return add_contact_sides(*this, mu, e, sides, 2);
}

int ContactProblem::add_hard(double e, const std::vector<SideInput>& sides) {
  Row row;
  row.e = e;
  return add_row(*this, hard, "hard row", row, sides);
}

int ContactProblem::add_soft(double e, double k, double b_row, const std::vector<SideInput>& sides, double limit) {
  Row row;
  row.e = e;
  row.k = k;
  row.b = b_row;
  row.limit = limit;
  return add_row(*this, soft, "soft row", row, sides);
}

int ContactProblem::add_equality(double e, const std::vector<SideInput>& sides) {
  Row row;
  row.e = e;
  return add_row(*this, equality, "equality row", row, sides);
}

int ContactProblem::add_bounded(double e, double limit, const std::vector<SideInput>& sides) {
  Row row;
  row.e = e;
  row.limit = limit;
  return add_row(*this, bounded, "bounded row", row, sides);
}

MatX make_dense_A(const ContactProblem& problem) {
  MatX A = MatX::Zero(problem.num_dofs(), problem.num_dofs());
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const Subsystem& sub = problem.subsystems[s];
    A.block(sub.offset, sub.offset, sub.dofs, sub.dofs) = problem.A(static_cast<int>(s));
  }
  return A;
}

MatX make_dense_J(const ContactProblem& problem) {
  MatX J = MatX::Zero(problem.num_rows(), problem.num_dofs());
  int first = 0;
  for (const Contact& contact : problem.contacts) {
    write_rows(problem, contact, 3, first, J);
    first += 3;
  }
  for_each_row(problem, [&](const Row& row) { write_rows(problem, row, 1, first++, J); });
  return J;
}

VecX make_dense_e(const ContactProblem& problem) {
  VecX e(problem.num_rows());
  int first = 0;
  for (const Contact& contact : problem.contacts) {
    e.segment<3>(first) = contact.e;
    first += 3;
  }
  for_each_row(problem, [&](const Row& row) { e[first++] = row.e; });
  return e;
}

ContactProblem make_problem(const MatX& A, const VecX& b, const MatX& J, const VecX& e, const VecX& mu,
                            const std::vector<int>& offsets_in) {
  check_matrices(A, b, J, e, mu);
  if (!offsets_in.empty()) check_offsets(A, offsets_in);
  const std::vector<int> offsets = offsets_in.empty() ? guess_offsets(A, J) : offsets_in;
  ContactProblem problem;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const int begin = offsets[s], count = offsets[s + 1] - begin;
    problem.add_subsystem(A.block(begin, begin, count, count), b.segment(begin, count));
  }
  for (int i = 0; i < mu.size(); ++i) {
    std::vector<int> touched = touched_blocks(J, i, offsets);
    if (touched.empty() && offsets.size() > 1) touched.push_back(0);  // J = 0: one side that moves nothing
    if (touched.empty() || touched.size() > 2)
      fail({"contact", static_cast<std::size_t>(i)},
           "touches " + std::to_string(touched.size()) + " subsystems, expected 1 or 2");
    SideInput sides[2];
    const SideInput* pointers[] = {&sides[0], &sides[1]};
    for (std::size_t s = 0; s < touched.size(); ++s) {
      const int begin = offsets[touched[s]], count = offsets[touched[s] + 1] - begin;
      sides[s].subsystem = touched[s];
      sides[s].J = J.block(3 * i, begin, 3, count);
    }
    add_contact_sides(problem, mu[i], e.segment<3>(3 * i), pointers, static_cast<int>(touched.size()));
  }
  problem.validate();
  return problem;
}

}  // namespace almond
