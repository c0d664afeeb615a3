#include "almond/solver/problem.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/tree.hpp"

namespace almond {
namespace {

// How far A may be from symmetric, from its tree, and J from J_body, relative to the largest entry.
constexpr double kConsistency = 1e-9;

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

[[noreturn]] void fail(const Place& place, const std::string& message) { throw Error(place.text() + ": " + message); }

std::string missing(const char* what, int index, int count) {
  return std::string(what) + " " + std::to_string(index) + " does not exist (there are " + std::to_string(count) + ")";
}

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

/// J = J_body J_b, written row by row into the pool (at `start`, rows x dofs).
void expand_body_jacobian(const Tree& tree, int body, const MapConstMatr& J_body, double* J) {
  const Eigen::Index rows = J_body.rows(), dofs = tree.num_dofs();
  std::fill(J, J + rows * dofs, 0.0);
  for (int up = body; up >= 0; up = tree.parent[up])
    for (int k = tree.dof_offset[up]; k < tree.dof_offset[up + 1]; ++k)
      for (Eigen::Index r = 0; r < rows; ++r) J[r * dofs + k] = J_body.row(r).dot(tree.S.col(k));
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

/// Structure of a tree: sizes, order of bodies, offsets.
void check_tree(const Tree& tree, const std::string& place) {
  const int bodies = tree.num_bodies();
  require(static_cast<int>(tree.dof_offset.size()) == bodies + 1,
          place + ": dof_offset has " + std::to_string(tree.dof_offset.size()) + " entries, expected " +
              std::to_string(bodies + 1));
  require(static_cast<int>(tree.M.size()) == bodies,
          place + ": M has " + std::to_string(tree.M.size()) + " inertias, expected " + std::to_string(bodies));
  require(tree.diagonal.size() == tree.num_dofs(), place + ": diagonal has " + std::to_string(tree.diagonal.size()) +
                                                       " entries, expected " + std::to_string(tree.num_dofs()));
  for (int b = 0; b < bodies; ++b) {
    require(tree.parent[b] >= -1 && tree.parent[b] < b, place + ": body " + std::to_string(b) + " has parent " +
                                                            std::to_string(tree.parent[b]) + ", expected -1 to " +
                                                            std::to_string(b - 1));
    require(tree.dof_offset[b] <= tree.dof_offset[b + 1],
            place + ": dof_offset decreases at body " + std::to_string(b));
  }
  require(tree.dof_offset.front() == 0 && tree.dof_offset.back() == tree.num_dofs(),
          place + ": dof_offset runs from " + std::to_string(tree.dof_offset.front()) + " to " +
              std::to_string(tree.dof_offset.back()) + ", expected 0 to " + std::to_string(tree.num_dofs()));
}

// ---------------------------------------------------------------- validate

void validate_subsystem(const ContactProblem& problem, int index) {
  const std::string place = Place{"subsystem", static_cast<std::size_t>(index)}.text();
  const Subsystem& sub = problem.subsystems[index];
  require(sub.dofs > 0, place + ": has " + std::to_string(sub.dofs) + " dofs, expected >= 1");
  const auto entries = static_cast<std::int64_t>(sub.dofs) * sub.dofs;
  require(sub.A_start >= 0 && sub.A_start + entries <= static_cast<std::int64_t>(problem.A_pool.size()),
          place + ": A lies outside the pool");
  const MapConstMat A = problem.A(index);
  require(A.allFinite(), place + ": A is not finite");
  require(problem.b_of(index).allFinite(), place + ": b is not finite");
  const double scale = A.cwiseAbs().maxCoeff();
  const double asymmetry = (A - A.transpose()).cwiseAbs().maxCoeff();
  require(asymmetry <= kConsistency * scale,
          place + ": A is not symmetric (largest difference " + to_text(asymmetry) + ")");
  require(A.llt().info() == Eigen::Success, place + ": A is not positive definite");
  if (sub.tree < 0) return;
  require(sub.tree < static_cast<int>(problem.trees.size()),
          place + ": " + missing("tree", sub.tree, static_cast<int>(problem.trees.size())));
  const Tree& tree = problem.trees[sub.tree];
  check_tree(tree, place + " tree");
  require(tree.num_dofs() == sub.dofs,
          place + ": tree has " + std::to_string(tree.num_dofs()) + " dofs, expected " + std::to_string(sub.dofs));
  MatX composed(sub.dofs, sub.dofs);
  std::vector<Mat6> scratch;
  compose(tree, tree.M, tree.diagonal, scratch, composed);
  const double difference = (composed - A).cwiseAbs().maxCoeff();
  require(difference <= kConsistency * scale,
          place + ": the tree does not reproduce A (largest difference " + to_text(difference) + ")");
}

/// A stored block of `count` entries that begins at `start` must lie inside the pool.
void validate_block(const std::vector<double>& pool, int start, std::int64_t count, const std::string& what) {
  require(start >= 0 && start + count <= static_cast<std::int64_t>(pool.size()), what + " lies outside the pool");
  for (std::int64_t i = start; i < start + count; ++i)
    require(std::isfinite(pool[static_cast<std::size_t>(i)]), what + " is not finite");
}

void validate_side(const ContactProblem& problem, const Side& side, int rows, const std::string& place) {
  const auto count = static_cast<int>(problem.subsystems.size());
  require(side.subsystem >= 0 && side.subsystem < count, place + ": " + missing("subsystem", side.subsystem, count));
  const Subsystem& sub = problem.subsystems[side.subsystem];
  validate_block(problem.J_pool, side.J_start, static_cast<std::int64_t>(rows) * sub.dofs, place + ": J");
  if (side.body < 0) return;
  require(sub.tree >= 0, place + ": body " + std::to_string(side.body) + " is named but subsystem " +
                             std::to_string(side.subsystem) + " has no tree");
  const Tree& tree = problem.trees[sub.tree];
  require(side.body < tree.num_bodies(), place + ": " + missing("body", side.body, tree.num_bodies()));
  validate_block(problem.J_pool, side.J_body_start, static_cast<std::int64_t>(rows) * 6, place + ": J_body");
  MatXr expanded(rows, sub.dofs);
  expand_body_jacobian(tree, side.body, problem.J_body(side, rows), expanded.data());
  const MapConstMatr J = problem.J(side, rows);
  const double difference = (expanded - J).cwiseAbs().maxCoeff();
  require(difference <= kConsistency * std::max(1.0, J.cwiseAbs().maxCoeff()),
          place + ": J_body does not reproduce J (largest difference " + to_text(difference) + ")");
}

template <class Constraint>
void validate_sides(const ContactProblem& problem, const Constraint& constraint, int rows, const std::string& place) {
  require(constraint.num_sides >= 1 && constraint.num_sides <= 2,
          place + ": has " + std::to_string(constraint.num_sides) + " sides, expected 1 or 2");
  for (int s = 0; s < constraint.num_sides; ++s)
    validate_side(problem, constraint.sides[s], rows, place + " side " + std::to_string(s));
}

void validate_row(const ContactProblem& problem, const Row& row, RowKind kind, const std::string& place) {
  require(std::isfinite(row.e), place + ": e is " + to_text(row.e) + ", expected a finite value");
  if (kind == RowKind::kSoft) {
    require(std::isfinite(row.k) && row.k >= 0.0, place + ": k is " + to_text(row.k) + ", expected >= 0");
    require(std::isfinite(row.b) && row.b > 0.0, place + ": b is " + to_text(row.b) + ", expected > 0");
  }
  if (kind == RowKind::kBounded)
    require(std::isfinite(row.limit) && row.limit >= 0.0,
            place + ": limit is " + to_text(row.limit) + ", expected >= 0");
  validate_sides(problem, row, 1, place);
}

void validate_start(const std::vector<double>& values, int expected, const char* name) {
  require(values.empty() || static_cast<int>(values.size()) == expected,
          std::string(name) + ": has " + std::to_string(values.size()) + " values, expected " +
              std::to_string(expected) + " or none");
  for (std::size_t i = 0; i < values.size(); ++i)
    require(std::isfinite(values[i]), std::string(name) + ": entry " + std::to_string(i) + " is not finite");
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

int ContactProblem::add_soft(double e, double k, double b_row, const std::vector<SideInput>& sides) {
  Row row;
  row.e = e;
  row.k = k;
  row.b = b_row;
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

void ContactProblem::validate() const {
  int offset = 0;
  for (std::size_t s = 0; s < subsystems.size(); ++s) {
    const Place place{"subsystem", s};
    if (subsystems[s].offset != offset)
      fail(place, "begins at dof " + std::to_string(subsystems[s].offset) + ", expected " + std::to_string(offset));
    offset += subsystems[s].dofs;
    if (offset > num_dofs())
      fail(place, "ends at dof " + std::to_string(offset) + ", but b has " + std::to_string(num_dofs()));
    validate_subsystem(*this, static_cast<int>(s));
  }
  require(offset == num_dofs(), "b: has " + std::to_string(num_dofs()) + " values, expected " + std::to_string(offset));
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const Contact& contact = contacts[i];
    const std::string place = Place{"contact", i}.text();
    require(std::isfinite(contact.mu) && contact.mu >= 0.0,
            place + ": mu is " + to_text(contact.mu) + ", expected >= 0");
    for (int r = 0; r < 3; ++r)
      require(std::isfinite(contact.e[r]),
              place + ": e[" + std::to_string(r) + "] is " + to_text(contact.e[r]) + ", expected a finite value");
    validate_sides(*this, contact, 3, place);
  }
  const auto check_rows = [this](const std::vector<Row>& rows, RowKind kind, const char* what) {
    for (std::size_t i = 0; i < rows.size(); ++i) validate_row(*this, rows[i], kind, Place{what, i}.text());
  };
  check_rows(hard, RowKind::kHard, "hard row");
  check_rows(soft, RowKind::kSoft, "soft row");
  check_rows(equality, RowKind::kEquality, "equality row");
  check_rows(bounded, RowKind::kBounded, "bounded row");
  validate_start(v0, num_dofs(), "v0");
  validate_start(lambda0, num_rows(), "lambda0");
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
  return problem;
}

}  // namespace almond
