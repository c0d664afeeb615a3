#pragma once
// What the tests of file readers share: a folder that vanishes, a problem with every feature, equality bit for bit.

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "almond/load/file_io.hpp"
#include "almond/load/npz.hpp"
#include "almond/load/problem_file.hpp"
#include "common/helpers.hpp"

namespace almond::testing {

/// Gives each test its own empty folder.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("almond-" + std::to_string(::getpid()) + "-" + info->test_suite_name() + "-" + info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] int count_files() const {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

inline bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

template <class A, class B>
bool same_values(const A& a, const B& b) {
  const auto size = static_cast<Eigen::Index>(a.size());
  if (size != static_cast<Eigen::Index>(b.size())) return false;
  for (Eigen::Index i = 0; i < size; ++i) {
    if (!same_bits(a.data()[i], b.data()[i])) return false;
  }
  return true;
}

template <class Constraint>
void expect_same_sides(const ContactProblem& p, const Constraint& a, const ContactProblem& q, const Constraint& b,
                       int rows) {
  ASSERT_EQ(a.num_sides, b.num_sides);
  for (int s = 0; s < a.num_sides; ++s) {
    ASSERT_EQ(a.sides[s].subsystem, b.sides[s].subsystem);
    ASSERT_EQ(a.sides[s].body, b.sides[s].body);
    EXPECT_TRUE(same_values(p.J(a.sides[s], rows), q.J(b.sides[s], rows)));
    ASSERT_EQ(a.sides[s].J_body_start < 0, b.sides[s].J_body_start < 0);
    if (a.sides[s].J_body_start >= 0) {
      EXPECT_TRUE(same_values(p.J_body(a.sides[s], rows), q.J_body(b.sides[s], rows)));
    }
  }
}

inline void expect_same_tree(const Tree& a, const Tree& b) {
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.dof_offset, b.dof_offset);
  EXPECT_TRUE(same_values(a.S, b.S));
  EXPECT_TRUE(same_values(a.diagonal, b.diagonal));
  ASSERT_EQ(a.M.size(), b.M.size());
  for (std::size_t i = 0; i < a.M.size(); ++i) EXPECT_TRUE(same_values(a.M[i], b.M[i]));
}

/// Everything a solver can see, bit for bit.
inline void expect_same_problem(const ContactProblem& p, const ContactProblem& q) {
  EXPECT_EQ(p.name, q.name);
  ASSERT_EQ(p.subsystems.size(), q.subsystems.size());
  for (std::size_t s = 0; s < p.subsystems.size(); ++s) {
    ASSERT_EQ(p.subsystems[s].dofs, q.subsystems[s].dofs);
    ASSERT_EQ(p.subsystems[s].offset, q.subsystems[s].offset);
    ASSERT_EQ(p.subsystems[s].tree, q.subsystems[s].tree);
    EXPECT_TRUE(same_values(p.A(static_cast<int>(s)), q.A(static_cast<int>(s))));
  }
  EXPECT_TRUE(same_values(p.b, q.b));
  ASSERT_EQ(p.trees.size(), q.trees.size());
  for (std::size_t t = 0; t < p.trees.size(); ++t) expect_same_tree(p.trees[t], q.trees[t]);
  ASSERT_EQ(p.contacts.size(), q.contacts.size());
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    EXPECT_TRUE(same_bits(p.contacts[i].mu, q.contacts[i].mu));
    EXPECT_TRUE(same_values(p.contacts[i].e, q.contacts[i].e));
    expect_same_sides(p, p.contacts[i], q, q.contacts[i], 3);
  }
  const auto expect_same_rows = [&](const std::vector<Row>& a, const std::vector<Row>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(same_bits(a[i].e, b[i].e) && same_bits(a[i].k, b[i].k) && same_bits(a[i].b, b[i].b) &&
                  same_bits(a[i].limit, b[i].limit));
      expect_same_sides(p, a[i], q, b[i], 1);
    }
  };
  expect_same_rows(p.hard, q.hard);
  expect_same_rows(p.soft, q.soft);
  expect_same_rows(p.equality, q.equality);
  expect_same_rows(p.bounded, q.bounded);
  EXPECT_TRUE(same_values(p.v0, q.v0));
  EXPECT_TRUE(same_values(p.lambda0, q.lambda0));
}

inline MatX random_matrix(std::mt19937_64& random, int rows, int cols) {
  std::normal_distribution<double> normal;
  MatX matrix(rows, cols);
  for (double& value : matrix.reshaped()) value = normal(random);
  return matrix;
}

inline MatX random_inertia(std::mt19937_64& random, int size) {
  const MatX root = random_matrix(random, size, size);
  return root * root.transpose() + MatX::Identity(size, size);
}

/// A branching tree with a joint of two dofs and a welded body.
inline Tree make_test_tree(std::mt19937_64& random) {
  Tree tree;
  tree.parent = {-1, 0, 0, 2};
  tree.dof_offset = {0, 3, 4, 4, 6};
  tree.S = random_matrix(random, 6, 6);
  for (int b = 0; b < 4; ++b) tree.M.push_back(random_inertia(random, 6));
  tree.diagonal = VecX::LinSpaced(6, 0.1, 0.7);
  return tree;
}

/// Free bodies and trees, every kind of row, one and two sides, two sides on one tree, a subsystem nothing touches.
inline ContactProblem make_rich_problem() {
  std::mt19937_64 random(7);
  ContactProblem problem;
  problem.name = "rich";
  const auto vector = [&](int size) { return VecX(random_matrix(random, size, 1)); };
  problem.add_subsystem(random_inertia(random, 6), vector(6));
  const int tree0 = problem.add_tree(make_test_tree(random), vector(6));
  problem.add_subsystem(random_inertia(random, 3), vector(3));
  const int tree1 = problem.add_tree(make_test_tree(random), vector(6));
  const auto plain = [&](int sub, int rows) {
    return SideInput{sub, random_matrix(random, rows, problem.subsystems[sub].dofs), -1, {}};
  };
  const auto body = [&](int sub, int index, int rows) {
    return SideInput{sub, {}, index, random_matrix(random, rows, 6)};
  };
  SideInput zeros = plain(0, 3);
  zeros.J(0, 1) = 0.0;
  zeros.J(1, 2) = -0.0;
  zeros.J(2, 3) = 5e-324;
  problem.add_contact(0.5, Vec3(0.0, -0.0, 1e-300), zeros);
  problem.add_contact(0.0, Vec3(1, 2, 3), body(tree1, 3, 3), plain(0, 3));
  problem.add_contact(1.5, Vec3(-1, 0.1, 0.3), body(tree0, 1, 3), body(tree0, 3, 3));
  problem.add_contact(0.7, Vec3(0, 0, -0.2), body(tree1, 2, 3), body(tree0, 0, 3));
  problem.add_hard(0.25, {plain(tree0, 1)});
  problem.add_hard(-0.25, {body(tree1, 1, 1), plain(tree1, 1)});
  problem.add_soft(0.01, 12.5, 0.75, {plain(0, 1), body(tree0, 2, 1)});
  problem.add_equality(1.0 / 3.0, {plain(tree1, 1), plain(tree0, 1)});
  problem.add_bounded(-0.0, 2.5, {plain(tree0, 1)});
  const VecX v0 = vector(problem.num_dofs()), lambda0 = vector(problem.num_rows());
  problem.v0.assign(v0.begin(), v0.end());
  problem.lambda0.assign(lambda0.begin(), lambda0.end());
  return problem;
}

/// The arrays of a small problem in the plain form that other programs write: one body, two contacts.
inline NpzArchive make_plain_fields() {
  std::mt19937_64 random(11);
  const auto flat = [](const MatX& matrix) {
    std::vector<double> values;
    for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
      for (Eigen::Index c = 0; c < matrix.cols(); ++c) values.push_back(matrix(r, c));
    }
    return values;
  };
  NpzArchive fields;
  fields.set("A", NpzArray({6, 6}, flat(random_inertia(random, 6))));
  fields.set("b", NpzArray({6}, flat(random_matrix(random, 6, 1))));
  fields.set("J", NpzArray({6, 6}, flat(random_matrix(random, 6, 6))));
  fields.set("e", NpzArray({6}, flat(random_matrix(random, 6, 1))));
  fields.set("mu", NpzArray({2}, std::vector<double>{0.5, 0.25}));
  return fields;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Any note of the report that contains `part`.
inline bool has_note(const LoadReport& report, const std::string& part) {
  for (const std::string& note : report.notes) {
    if (contains(note, part)) return true;
  }
  return false;
}

}  // namespace almond::testing
