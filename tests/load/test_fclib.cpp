// FCLIB files: the normal changes place, both forms describe the same physics, and files of others are read as they
// are.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "almond/load/hdf5_file.hpp"
#include "load/load_fixture.hpp"

#ifdef ALMOND_HAVE_HDF5

namespace almond::testing {
namespace {

class Fclib : public FolderTest {
 protected:
  /// W, q, mu as an FCLIB local file with the matrix as triplets.
  void write_local(const std::string& name, const MatX& W, const std::vector<double>& q,
                   const std::vector<double>& mu) {
    Hdf5File file = Hdf5File::create(path(name));
    file.make_group("fclib_local");
    file.make_group("fclib_local/vectors");
    write_matrix(file, "fclib_local/W", W);
    file.write("fclib_local/vectors/q", q);
    file.write("fclib_local/vectors/mu", mu);
    file.write("fclib_local/spacedim", std::vector<int>{3});
    write_file(path(name), file.bytes());
  }

  /// storage: -1 by columns, -2 by rows, else triplets.
  static void write_matrix(Hdf5File& file, const std::string& group, const MatX& M, int storage = 0) {
    std::vector<int> p, i;
    std::vector<double> x;
    const bool by_rows = storage == -2;
    const auto outer = static_cast<int>(by_rows ? M.rows() : M.cols());
    const auto inner = static_cast<int>(by_rows ? M.cols() : M.rows());
    for (int o = 0; o < outer; ++o) {
      if (storage < 0) p.push_back(static_cast<int>(x.size()));
      for (int k = 0; k < inner; ++k) {
        const double value = by_rows ? M(o, k) : M(k, o);
        if (value == 0.0) continue;
        i.push_back(k);
        if (storage >= 0) p.push_back(o);
        x.push_back(value);
      }
    }
    if (storage < 0) p.push_back(static_cast<int>(x.size()));
    const int nz = storage < 0 ? storage : static_cast<int>(x.size());
    file.make_group(group);
    file.write(group + "/m", std::vector<int>{static_cast<int>(M.rows())});
    file.write(group + "/n", std::vector<int>{static_cast<int>(M.cols())});
    file.write(group + "/nz", std::vector<int>{nz});
    file.write(group + "/nzmax", std::vector<int>{static_cast<int>(x.size())});
    file.write(group + "/p", p);
    file.write(group + "/i", i);
    file.write(group + "/x", x);
  }

  /// M, H (and G) as an FCLIB global file.
  void write_global(const std::string& name, const MatX& M, const MatX& H, const MatX* G, int storage) {
    Hdf5File file = Hdf5File::create(path(name));
    file.make_group("fclib_global");
    file.make_group("fclib_global/vectors");
    write_matrix(file, "fclib_global/M", M, storage);
    write_matrix(file, "fclib_global/H", H, storage);
    if (G != nullptr) {
      write_matrix(file, "fclib_global/G", *G, storage);
      file.write("fclib_global/vectors/b", std::vector<double>(static_cast<std::size_t>(G->cols()), 0.125));
    }
    file.write("fclib_global/vectors/f", std::vector<double>(static_cast<std::size_t>(M.rows()), 2.0));
    std::vector<double> w(static_cast<std::size_t>(H.cols()));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>(i);
    file.write("fclib_global/vectors/w", w);
    file.write("fclib_global/vectors/mu", std::vector<double>(w.size() / 3, 0.3));
    file.write("fclib_global/spacedim", std::vector<int>{3});
    write_file(path(name), file.bytes());
  }
};

/// W = J A⁻¹ Jᵀ over the contacts.
MatX delassus_of(const ContactProblem& problem) {
  const MatX J = make_dense_J(problem).topRows(3 * problem.num_contacts());
  return J * make_dense_A(problem).llt().solve(J.transpose());
}

VecX free_velocity_of(const ContactProblem& problem) {
  const MatX J = make_dense_J(problem).topRows(3 * problem.num_contacts());
  const VecX b = MapConstVec(problem.b.data(), problem.num_dofs());
  return J * make_dense_A(problem).llt().solve(b) + make_dense_e(problem).head(3 * problem.num_contacts());
}

TEST_F(Fclib, HeapsThatClaimMoreThanTheFileHasAreRefused) {
  write_local("good.hdf5", MatX::Identity(3, 3), {0.0, 0.0, -1.0}, {0.5});
  const std::string good = read_file(path("good.hdf5"));
  EXPECT_NO_THROW(static_cast<void>(load_problem(path("good.hdf5"))));
  const std::size_t heap = good.find(std::string("HEAP\0", 5));
  ASSERT_NE(heap, std::string::npos);
  const auto change = [&](std::size_t at, unsigned long long value) {
    std::string bytes = good;
    for (std::size_t k = 0; k < 8; ++k) bytes[at + k] = static_cast<char>(value >> (8 * k));
    write_file(path("bad.hdf5"), bytes);
  };
  const auto error = [&] { return error_of([&] { static_cast<void>(load_problem(path("bad.hdf5"))); }); };
  const auto all = static_cast<unsigned long long>(good.size());
  for (const unsigned long long size : {~0ULL, 3254779992ULL, 1ULL << 40U, all}) {
    change(heap + 8, size);
    expect_words(error(), "the heap at byte " + std::to_string(heap) + " claims " + std::to_string(size) + " bytes");
  }
  change(heap + 24, all);
  expect_words(error(), "the file has " + std::to_string(all));
  change(heap + 16, all);
  expect_words(error(), "its free places do not lie in it");
  std::string circle = good;  // a free place that leads to itself
  const std::size_t data =
      static_cast<unsigned char>(good[heap + 24]) + 256U * static_cast<unsigned char>(good[heap + 25]);
  for (std::size_t k = 0; k < 8; ++k) circle[heap + 16 + k] = circle[data + 8 + k] = k == 0 ? 8 : 0;
  write_file(path("bad.hdf5"), circle);
  expect_words(error(), "its free places do not lie in it");
  std::string narrow = good;
  narrow[14] = 4;
  write_file(path("bad.hdf5"), narrow);
  expect_words(error(), "8 and 4 bytes, expected 8");
}

TEST_F(Fclib, LocalMovesTheNormalToTheEnd) {
  MatX W = MatX::Zero(3, 3);
  W.diagonal() << 1, 2, 3;  // n, t1, t2
  W(0, 1) = W(1, 0) = 0.5;
  write_local("p.hdf5", W, {10, 20, 30}, {0.4});
  const ContactProblem problem = load_problem(path("p.hdf5"));
  MatX expected(3, 3);
  expected << 2, 0, 0.5, 0, 3, 0, 0.5, 0, 1;  // t1, t2, n
  EXPECT_LT((delassus_of(problem) - expected).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_EQ(problem.contacts[0].e, Vec3(20, 30, 10));
  EXPECT_EQ(problem.contacts[0].mu, 0.4);
  EXPECT_EQ(make_dense_A(problem), MatX::Identity(problem.num_dofs(), problem.num_dofs()));
  EXPECT_TRUE(MapConstVec(problem.b.data(), problem.num_dofs()).isZero(0.0));
}

TEST_F(Fclib, GlobalIsReadFromEveryStorage) {
  std::mt19937_64 random(5);
  MatX M = MatX::Zero(12, 12);
  M.topLeftCorner(6, 6) = random_inertia(random, 6);
  M.bottomRightCorner(6, 6) = random_inertia(random, 6);
  const MatX H = random_matrix(random, 12, 6), G = random_matrix(random, 12, 2);
  for (const int storage : {-2, -1, 0}) {
    SCOPED_TRACE(storage);
    write_global("p.hdf5", M, H, &G, storage);
    const ContactProblem problem = load_problem(path("p.hdf5"));
    EXPECT_EQ(problem.subsystems.size(), 2U);
    EXPECT_EQ(make_dense_A(problem), M);
    const MatX J = make_dense_J(problem);
    ASSERT_EQ(J.rows(), 8);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(J.row(3 * i), H.col(3 * i + 1).transpose());
      EXPECT_EQ(J.row(3 * i + 1), H.col(3 * i + 2).transpose());
      EXPECT_EQ(J.row(3 * i + 2), H.col(3 * i).transpose());
    }
    EXPECT_EQ(J.bottomRows(2), G.transpose());
    EXPECT_EQ(problem.contacts[1].e, Vec3(4, 5, 3));
    EXPECT_EQ(problem.equality[1].e, 0.125);
    EXPECT_EQ(problem.b[3], 2.0);
  }
}

TEST_F(Fclib, AMassMatrixGivenByOneTriangleIsCompleted) {
  std::mt19937_64 random(6);
  const MatX M = random_inertia(random, 6), H = random_matrix(random, 6, 3);
  for (const bool upper : {true, false}) {
    const MatX half = upper ? MatX(M.triangularView<Eigen::Upper>()) : MatX(M.triangularView<Eigen::Lower>());
    write_global("p.hdf5", half, H, nullptr, 0);
    LoadReport report;
    const ContactProblem problem = load_problem(path("p.hdf5"), &report);
    EXPECT_TRUE(has_note(report, upper ? "M holds only its upper triangle" : "M holds only its lower triangle"));
    const MatX mirrored = half + half.transpose() - MatX(half.diagonal().asDiagonal());
    EXPECT_EQ(make_dense_A(problem), mirrored);
  }
}

TEST_F(Fclib, LocalBilateralRowsBecomeEqualities) {
  std::mt19937_64 random(8);
  const MatX J = random_matrix(random, 5, 6), all = J * J.transpose();
  Hdf5File file = Hdf5File::create(path("p.hdf5"));
  file.make_group("fclib_local");
  file.make_group("fclib_local/vectors");
  write_matrix(file, "fclib_local/W", all.topLeftCorner(3, 3));
  write_matrix(file, "fclib_local/V", all.topRightCorner(3, 2));
  write_matrix(file, "fclib_local/R", all.bottomRightCorner(2, 2));
  file.write("fclib_local/vectors/q", std::vector<double>{1, 2, 3});
  file.write("fclib_local/vectors/s", std::vector<double>{4, 5});
  file.write("fclib_local/vectors/mu", std::vector<double>{0.5});
  write_file(path("p.hdf5"), file.bytes());
  const ContactProblem problem = load_problem(path("p.hdf5"));
  ASSERT_EQ(problem.equality.size(), 2U);
  EXPECT_EQ(make_dense_e(problem), (VecX(5) << 2, 3, 1, 4, 5).finished());
  const MatX ours = make_dense_J(problem);
  const std::vector<int> order = {1, 2, 0, 3, 4};
  EXPECT_LT((ours * ours.transpose() - all(order, order)).cwiseAbs().maxCoeff(), 1e-12 * all.maxCoeff());
}

/// Bodies that touch, and an equality row for the global form.
ContactProblem make_contact_problem(bool equality) {
  std::mt19937_64 random(9);
  ContactProblem problem;
  problem.name = "two bodies";
  for (int s = 0; s < 2; ++s) problem.add_subsystem(random_inertia(random, 6), random_matrix(random, 6, 1));
  const auto side = [&](int sub, int rows) { return SideInput{sub, random_matrix(random, rows, 6), -1, {}}; };
  problem.add_contact(0.3, Vec3(1, 2, 3), side(0, 3));
  problem.add_contact(0.6, Vec3(-1, 0, 3), side(0, 3), side(1, 3));
  if (equality) problem.add_equality(0.5, {side(0, 1), side(1, 1)});
  return problem;
}

TEST_F(Fclib, GlobalRoundTripsBitForBit) {
  const ContactProblem problem = make_contact_problem(true);
  save_problem(problem, path("p.hdf5"));
  ContactProblem back = load_problem(path("p.hdf5"));
  back.name = problem.name;
  expect_same_problem(problem, back);
}

TEST_F(Fclib, LocalKeepsTheDelassusMatrixAndTheFreeVelocity) {
  const ContactProblem problem = make_contact_problem(false);
  save_problem(problem, path("p.h5"), FclibForm::kLocal);
  const ContactProblem back = load_problem(path("p.h5"));
  const MatX W = delassus_of(problem);
  EXPECT_LT((delassus_of(back) - W).cwiseAbs().maxCoeff(), 1e-12 * W.maxCoeff());
  EXPECT_LT((free_velocity_of(back) - free_velocity_of(problem)).cwiseAbs().maxCoeff(), 1e-12);
}

TEST_F(Fclib, RefusesWhatTheFormatCannotHold) {
  ContactProblem problem = make_contact_problem(true);
  EXPECT_TRUE(contains(error_of([&] { save_problem(problem, path("p.h5"), FclibForm::kLocal); }),
                       "has 1 rows that are not contacts"));
  problem.add_hard(0.0, {SideInput{0, MatXr::Ones(1, 6), -1, {}}});
  EXPECT_TRUE(contains(error_of([&] { save_problem(problem, path("p.h5")); }), "use .npz"));
  EXPECT_EQ(count_files(), 0);
}

TEST_F(Fclib, BadFilesAreNamed) {
  const MatX W = MatX::Identity(3, 3);
  const auto error = [this] { return error_of([this] { (void)load_problem(path("p.hdf5")); }); };
  write_local("p.hdf5", W, {1, 2}, {0.4});
  EXPECT_TRUE(contains(error(), "dataset \"fclib_local/vectors/q\": 2 values, expected 3")) << error();
  write_local("p.hdf5", W, {1, 2, 3}, {-0.4});
  EXPECT_TRUE(contains(error(), "dataset \"fclib_local/vectors/mu\"[0] = -0.4, expected >= 0")) << error();
  write_local("p.hdf5", W, {1, kNaN, 3}, {0.4});
  EXPECT_TRUE(contains(error(), "dataset \"fclib_local/vectors/q\"[1] = nan")) << error();
  write_local("p.hdf5", MatX::Identity(4, 4), {1, 2, 3}, {0.4});
  EXPECT_TRUE(contains(error(), "dataset \"fclib_local/W\": is 4 x 4, expected 3 x 3")) << error();
  write_local("p.hdf5", kInfinity * W, {1, 2, 3}, {0.4});
  EXPECT_TRUE(contains(error(), "dataset \"fclib_local/W/x\"[0] = ")) << error();
  Hdf5File file = Hdf5File::create(path("p.hdf5"));
  file.make_group("fclib_loca");
  write_file(path("p.hdf5"), file.bytes());
  EXPECT_TRUE(
      contains(error(), "neither group \"fclib_local\" nor \"fclib_global\" is there (there is \"fclib_loca\")"));
  Hdf5File half = Hdf5File::create(path("p.hdf5"));
  half.make_group("fclib_local");
  half.make_group("fclib_local/vectors");
  half.write("fclib_local/vectors/Mu", std::vector<double>{1});
  write_file(path("p.hdf5"), half.bytes());
  EXPECT_TRUE(contains(error(), "\"fclib_local/vectors/mu\" is missing (the nearest there is \"Mu\")")) << error();
  Hdf5File flat = Hdf5File::create(path("p.hdf5"));
  flat.make_group("fclib_local");
  flat.write("fclib_local/spacedim", std::vector<int>{2});
  write_file(path("p.hdf5"), flat.bytes());
  EXPECT_TRUE(contains(error(), "\"fclib_local/spacedim\" = 2, expected 3")) << error();
}

TEST_F(Fclib, TruncatedFilesAreRefused) {
  write_local("p.hdf5", MatX::Identity(3, 3), {1, 2, 3}, {0.4});
  const std::string bytes = read_file(path("p.hdf5"));
  for (const std::size_t length : {std::size_t{8}, std::size_t{100}, bytes.size() / 2, bytes.size() - 8}) {
    write_file(path("q.hdf5"), bytes.substr(0, length));
    const std::string message = error_of([this] { (void)load_problem(path("q.hdf5")); });
    EXPECT_TRUE(contains(message, "q.hdf5: ")) << message;
  }
}

}  // namespace
}  // namespace almond::testing

#endif  // ALMOND_HAVE_HDF5
