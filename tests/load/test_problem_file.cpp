// Problems come back from .npz and JSON bit for bit; plain matrices become the same problem whatever their storage.

#include <gtest/gtest.h>

#include <ctime>

#include "almond/load/problem_file.hpp"
#include "load/load_fixture.hpp"

namespace almond::testing {
namespace {

class ProblemFile : public FolderTest {};

TEST_F(ProblemFile, EveryFeatureRoundTripsBitForBit) {
  const ContactProblem problem = make_rich_problem();
  problem.validate();
  for (const std::string name : {"p.npz", "p.json"}) {
    SCOPED_TRACE(name);
    save_problem(problem, path(name));
    LoadReport report;
    expect_same_problem(problem, load_problem(path(name), &report));
    EXPECT_TRUE(report.notes.empty()) << report.notes.front();
  }
}

TEST_F(ProblemFile, EmptyProblemRoundTrips) {
  ContactProblem problem;
  problem.name = "empty";
  for (const std::string name : {"p.npz", "p.json"}) {
    save_problem(problem, path(name));
    expect_same_problem(problem, load_problem(path(name)));
  }
  std::mt19937_64 random(1);
  problem.add_subsystem(random_inertia(random, 6), random_matrix(random, 6, 1));
  save_problem(problem, path("p.npz"));
  expect_same_problem(problem, load_problem(path("p.npz")));
}

/// The sparse form of a dense field, the entries of each row in reverse order.
void make_sparse(NpzArchive& fields, const std::string& name, NpzArchive& out) {
  const NpzArray& dense = fields.at(name);
  const auto& values = std::get<std::vector<double>>(dense.data);
  std::vector<double> data;
  std::vector<std::int32_t> indices, indptr = {0};
  for (std::int64_t r = 0; r < dense.shape[0]; ++r) {
    for (std::int64_t c = dense.shape[1]; c-- > 0;) {
      const double value = values[static_cast<std::size_t>(r * dense.shape[1] + c)];
      if (value == 0.0) continue;
      data.push_back(value);
      indices.push_back(static_cast<std::int32_t>(c));
    }
    indptr.push_back(static_cast<std::int32_t>(data.size()));
  }
  const auto count = static_cast<std::int64_t>(data.size()), starts = static_cast<std::int64_t>(indptr.size());
  out.set(name + "_data", NpzArray({count}, data));
  out.set(name + "_indices", NpzArray({count}, indices));
  out.set(name + "_indptr", NpzArray({starts}, indptr));
  out.set(name + "_shape", NpzArray({2}, dense.shape));
}

TEST_F(ProblemFile, DenseAndSparseMatricesMeanTheSame) {
  NpzArchive dense = make_plain_fields(), sparse;
  for (const std::string name : {"b", "e", "mu"}) sparse.set(name, dense.at(name));
  make_sparse(dense, "A", sparse);
  make_sparse(dense, "J", sparse);
  dense.write(path("p.npz"));
  const ContactProblem expected = load_problem(path("p.npz"));
  EXPECT_EQ(expected.name, "p");
  EXPECT_EQ(expected.num_contacts(), 2);
  EXPECT_EQ(make_dense_J(expected)(3, 1), std::get<std::vector<double>>(dense.at("J").data)[19]);
  sparse.write(path("p.npz"));
  expect_same_problem(expected, load_problem(path("p.npz")));
}

TEST_F(ProblemFile, RepeatedSparseEntriesAddUp) {
  NpzArchive fields = make_plain_fields();
  fields.set("J_shape", NpzArray({2}, std::vector<std::int64_t>{6, 6}));
  fields.set("J_data", NpzArray({4}, std::vector<double>{1.0, 2.0, 4.0, 8.0}));
  fields.set("J_indices", NpzArray({4}, std::vector<std::int64_t>{3, 3, 0, 3}));
  fields.set("J_indptr", NpzArray({7}, std::vector<std::int64_t>{0, 4, 4, 4, 4, 4, 4}));
  NpzArchive sparse;
  for (const std::string& name : fields.names()) {
    if (name != "J") sparse.set(name, fields.at(name));
  }
  sparse.write(path("p.npz"));
  LoadReport report;
  const ContactProblem problem = load_problem(path("p.npz"), &report);
  EXPECT_EQ(make_dense_J(problem)(0, 3), 11.0);
  EXPECT_EQ(make_dense_J(problem)(0, 0), 4.0);
  EXPECT_TRUE(has_note(report, "1 contact(s) act on nothing"));
}

/// n dofs with diagonal A; contact i has ones at the listed dofs.
NpzArchive make_diagonal_fields(int n, const std::vector<std::vector<int>>& touched) {
  std::vector<double> A(static_cast<std::size_t>(n * n), 0.0), J(3 * touched.size() * static_cast<std::size_t>(n), 0.0);
  for (int i = 0; i < n; ++i) A[static_cast<std::size_t>(i * n + i)] = 1.0 + i;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    for (const int dof : touched[i])
      J[(3 * i + 2) * static_cast<std::size_t>(n) + static_cast<std::size_t>(dof)] = 1.0 + dof;
  }
  const auto m = static_cast<std::int64_t>(touched.size());
  NpzArchive fields;
  fields.set("A", NpzArray({n, n}, A));
  fields.set("b", NpzArray({n}, std::vector<double>(static_cast<std::size_t>(n), 1.0)));
  fields.set("J", NpzArray({3 * m, n}, J));
  fields.set("e", NpzArray({3 * m}, std::vector<double>(3 * touched.size(), 0.0)));
  fields.set("mu", NpzArray({m}, std::vector<double>(touched.size(), 0.5)));
  return fields;
}

std::vector<int> dofs_of(const ContactProblem& problem) {
  std::vector<int> dofs;
  for (const Subsystem& sub : problem.subsystems) dofs.push_back(sub.dofs);
  return dofs;
}

TEST_F(ProblemFile, SubsystemsWithoutOffsetsFollowTheSparsityOfA) {
  NpzArchive fields = make_diagonal_fields(5, {{0}, {3, 4}});
  auto A = std::get<std::vector<double>>(fields.at("A").data);
  A[0 * 5 + 2] = A[2 * 5 + 0] = 0.5;  // couples 0 and 2, and 1 lies between
  fields.set("A", NpzArray({5, 5}, A));
  fields.write(path("p.npz"));
  const ContactProblem problem = load_problem(path("p.npz"));
  EXPECT_EQ(dofs_of(problem), (std::vector<int>{3, 1, 1}));
  EXPECT_EQ(problem.contacts[0].num_sides, 1);
  EXPECT_EQ(problem.contacts[1].num_sides, 2);
}

TEST_F(ProblemFile, DiagonalMassMatricesGiveBodiesOfSixOrThree) {
  make_diagonal_fields(18, {{0, 2, 4, 7, 11}, {1, 3}}).write(path("p.npz"));
  EXPECT_EQ(dofs_of(load_problem(path("p.npz"))), (std::vector<int>{6, 6, 6}));
  make_diagonal_fields(9, {{0, 2, 7}, {3, 4, 5}}).write(path("p.npz"));
  EXPECT_EQ(dofs_of(load_problem(path("p.npz"))), (std::vector<int>{3, 3, 3}));
}

TEST_F(ProblemFile, RowsOnThreeSubsystemsMergeTheNearest) {
  NpzArchive fields = make_diagonal_fields(8, {{0, 3, 4}, {6}});
  fields.set("subsystem_offsets", NpzArray({5}, std::vector<std::int64_t>{0, 3, 4, 6, 8}));
  fields.write(path("p.npz"));
  LoadReport report;
  const ContactProblem problem = load_problem(path("p.npz"), &report);
  EXPECT_EQ(dofs_of(problem), (std::vector<int>{3, 3, 2}));
  EXPECT_TRUE(has_note(report, "subsystems merged"));
  EXPECT_EQ(make_dense_J(problem)(2, 0), 1.0);
  EXPECT_EQ(make_dense_J(problem)(2, 3), 4.0);
  EXPECT_EQ(make_dense_J(problem)(2, 4), 5.0);
}

TEST_F(ProblemFile, MergingDropsTreesButKeepsTheMatrices) {
  ContactProblem problem = make_rich_problem();
  save_problem(problem, path("p.npz"));
  NpzArchive fields = NpzArchive::read(path("p.npz"));
  // A hard row over three subsystems, given without sides.
  const int n = problem.num_dofs();
  NpzArchive out;
  for (const std::string& name : fields.names()) {
    if (name.rfind("Jh", 0) != 0 && name != "lambda0") out.set(name, fields.at(name));
  }
  out.set("Jh", NpzArray({2, n}, std::vector<double>(static_cast<std::size_t>(2 * n), 1.0)));
  out.write(path("p.npz"));
  LoadReport report;
  const ContactProblem merged = load_problem(path("p.npz"), &report);
  EXPECT_TRUE(has_note(report, "trees dropped"));
  EXPECT_EQ(make_dense_A(merged), make_dense_A(problem));
  const MatX J = make_dense_J(merged), J_before = make_dense_J(problem);
  EXPECT_EQ(J.topRows(12), J_before.topRows(12));
  EXPECT_EQ(J.middleRows(12, 2), MatX::Ones(2, n));
  EXPECT_EQ(J.bottomRows(3), J_before.bottomRows(3));
}

TEST_F(ProblemFile, SmallAsymmetryOfAIsRepairedAndSaid) {
  NpzArchive fields = make_plain_fields();
  auto A = std::get<std::vector<double>>(fields.at("A").data);
  const double before = A[1];
  A[1] += 2e-7;
  fields.set("A", NpzArray({6, 6}, A));
  fields.write(path("p.npz"));
  LoadReport report;
  const ContactProblem problem = load_problem(path("p.npz"), &report);
  EXPECT_TRUE(has_note(report, "A symmetrised"));
  EXPECT_NEAR(problem.A(0)(0, 1), before + 1e-7, 1e-12);
  EXPECT_EQ(problem.A(0)(0, 1), problem.A(0)(1, 0));
}

TEST_F(ProblemFile, UnknownFieldsAreIgnoredAndSaid) {
  NpzArchive fields = make_plain_fields();
  fields.set("subsystem_offset", NpzArray({2}, std::vector<std::int64_t>{0, 6}));
  fields.write(path("p.npz"));
  LoadReport report;
  (void)load_problem(path("p.npz"), &report);
  EXPECT_TRUE(has_note(report, "field \"subsystem_offset\" ignored (the nearest known name is \"subsystem_offsets\")"));
}

TEST_F(ProblemFile, ContentDecidesBeforeTheExtension) {
  const ContactProblem problem = make_rich_problem();
  save_problem(problem, path("p.npz"));
  std::filesystem::rename(path("p.npz"), path("p.json"));
  expect_same_problem(problem, load_problem(path("p.json")));
  save_problem(problem, path("p.json"));
  std::filesystem::rename(path("p.json"), path("p.txt"));
  expect_same_problem(problem, load_problem(path("p.txt")));
}

TEST_F(ProblemFile, AFailedSaveLeavesTheEarlierFile) {
  ContactProblem problem = make_rich_problem();
  save_problem(problem, path("p.json"));
  const std::string before = read_file(path("p.json"));
  problem.b[0] = kNaN;
  EXPECT_TRUE(contains(error_of([&] { save_problem(problem, path("p.json")); }), "nan cannot be written as JSON"));
  EXPECT_EQ(read_file(path("p.json")), before);
  EXPECT_TRUE(contains(error_of([&] { save_problem(problem, path("nowhere/p.npz")); }), "cannot be written"));
  EXPECT_TRUE(contains(error_of([&] { save_problem(problem, path("p.xml")); }), "unknown extension \".xml\""));
  std::filesystem::create_directory(path("folder.npz"));
  EXPECT_TRUE(contains(error_of([&] { save_problem(problem, path("folder.npz")); }), "cannot be written"));
  EXPECT_EQ(count_files(), 2);
}

TEST_F(ProblemFile, SolutionsAreTwoArrays) {
  const VecX v = VecX::LinSpaced(5, -1, 1), lambda = VecX::LinSpaced(7, 0, 3);
  save_solution(path("s.npz"), v, lambda);
  const NpzArchive archive = NpzArchive::read(path("s.npz"));
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"lambda", "v"}));
  EXPECT_TRUE(same_values(std::get<std::vector<double>>(archive.at("v").data), v));
  EXPECT_TRUE(same_values(std::get<std::vector<double>>(archive.at("lambda").data), lambda));
}

TEST_F(ProblemFile, LargePilesLoadQuickly) {
  const std::string folder = shared_folder();
  const std::string file = folder + "/problems/spheres1000_s300.npz";
  if (folder.empty() || !std::filesystem::exists(file)) GTEST_SKIP() << "needs problems/spheres1000_s300.npz";
  const std::clock_t start = std::clock();
  const ContactProblem problem = load_problem(file);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 0.5);
  EXPECT_EQ(problem.num_contacts(), 3650);
  EXPECT_EQ(problem.subsystems.size(), 1000U);
}

}  // namespace
}  // namespace almond::testing
