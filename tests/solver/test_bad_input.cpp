// Everything that can be wrong with a problem or with settings is refused, with exactly one line that names place,
// value and expectation.

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "almond/base/check.hpp"
#include "almond/solver/certificate.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using testing::error_of;

SideInput make_side(int subsystem, const MatX& J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = J;
  return side;
}

/// Two free particles, one contact between them, one row of each kind.
ContactProblem make_small() {
  ContactProblem problem;
  for (int s = 0; s < 2; ++s) problem.add_subsystem(Mat3::Identity(), Vec3(0.0, 0.0, -1.0));
  problem.add_contact(0.5, Vec3::Zero(), make_side(0, Mat3::Identity()), make_side(1, -Mat3::Identity()));
  const SideInput row = make_side(0, Mat3::Identity().row(0));
  problem.add_hard(0.0, {row});
  problem.add_soft(0.1, 1.0, 2.0, {row});
  problem.add_equality(0.0, {make_side(1, Mat3::Identity().row(1))});
  problem.add_bounded(0.0, 1.0, {row});
  return problem;
}

Tree make_two_links() {
  Tree tree;
  tree.parent = {-1, 0};
  tree.dof_offset = {0, 1, 2};
  tree.S = Eigen::Matrix<double, 6, -1>::Zero(6, 2);
  tree.S(0, 0) = tree.S(1, 1) = 1.0;
  tree.M = {Mat6::Identity(), Mat6::Identity()};
  tree.diagonal = VecX::Zero(2);
  return tree;
}

struct Case {
  const char* name;
  std::function<void()> action;
  const char* message;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class BadInput : public ::testing::TestWithParam<Case> {};

TEST_P(BadInput, IsRefusedWithItsMessage) { EXPECT_EQ(error_of(GetParam().action), GetParam().message); }

/// A valid small problem, changed, then validated.
Case after(const char* name, const std::function<void(ContactProblem&)>& change, const char* message) {
  return {name,
          [change] {
            ContactProblem problem = make_small();
            change(problem);
            problem.validate();
          },
          message};
}

Case building(const char* name, const std::function<void(ContactProblem&)>& change, const char* message) {
  return {name,
          [change] {
            ContactProblem problem = make_small();
            change(problem);
          },
          message};
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Validate, BadInput,
    ::testing::Values(
        after(
            "NotDefinite", [](auto& p) { p.A_pool[9] = -1.0; }, "subsystem 1: A is not positive definite"),
        after(
            "Zero", [](auto& p) { std::fill(p.A_pool.begin() + 9, p.A_pool.end(), 0.0); },
            "subsystem 1: A is not positive definite"),
        after(
            "NotSymmetric", [](auto& p) { p.A_pool[1] = 0.25; },
            "subsystem 0: A is not symmetric (largest difference 0.25)"),
        after(
            "NanInA", [](auto& p) { p.A_pool[12] = kNan; }, "subsystem 1: A is not finite"),
        after(
            "InfInB", [](auto& p) { p.b[4] = kInf; }, "subsystem 1: b is not finite"),
        after(
            "BTooLong", [](auto& p) { p.b.push_back(0.0); }, "b: has 7 values, expected 6"),
        after(
            "BTooShort", [](auto& p) { p.b.pop_back(); }, "subsystem 1: ends at dof 6, but b has 5"),
        after(
            "Offset", [](auto& p) { p.subsystems[1].offset = 2; }, "subsystem 1: begins at dof 2, expected 3"),
        after(
            "NoDofs", [](auto& p) { p.subsystems[0].dofs = 0; }, "subsystem 0: has 0 dofs, expected >= 1"),
        after(
            "PoolOfA", [](auto& p) { p.A_pool.pop_back(); }, "subsystem 1: A lies outside the pool"),
        after(
            "TreeIndex", [](auto& p) { p.subsystems[0].tree = 4; }, "subsystem 0: tree 4 does not exist (there are 0)"),
        after(
            "MuNegative", [](auto& p) { p.contacts[0].mu = -0.1; }, "contact 0: mu is -0.1, expected >= 0"),
        after(
            "MuNan", [](auto& p) { p.contacts[0].mu = kNan; }, "contact 0: mu is nan, expected >= 0"),
        after(
            "MuInfinite", [](auto& p) { p.contacts[0].mu = kInf; }, "contact 0: mu is inf, expected >= 0"),
        after(
            "BiasNan", [](auto& p) { p.contacts[0].e[1] = kNan; }, "contact 0: e[1] is nan, expected a finite value"),
        after(
            "SideSubsystem", [](auto& p) { p.contacts[0].sides[1].subsystem = 9; },
            "contact 0 side 1: subsystem 9 does not exist (there are 2)"),
        after(
            "SideNegative", [](auto& p) { p.contacts[0].sides[0].subsystem = -1; },
            "contact 0 side 0: subsystem -1 does not exist (there are 2)"),
        after(
            "SideCount", [](auto& p) { p.contacts[0].num_sides = 3; }, "contact 0: has 3 sides, expected 1 or 2"),
        after(
            "NoSide", [](auto& p) { p.contacts[0].num_sides = 0; }, "contact 0: has 0 sides, expected 1 or 2"),
        after(
            "JOutside", [](auto& p) { p.contacts[0].sides[0].J_start = 100000; },
            "contact 0 side 0: J lies outside the pool"),
        after(
            "JMissing", [](auto& p) { p.contacts[0].sides[0].J_start = -1; },
            "contact 0 side 0: J lies outside the pool"),
        after(
            "JNan", [](auto& p) { p.J_pool[p.contacts[0].sides[1].J_start + 4] = kNan; },
            "contact 0 side 1: J is not finite"),
        after(
            "BodyWithoutTree", [](auto& p) { p.contacts[0].sides[0].body = 2; },
            "contact 0 side 0: body 2 is named but subsystem 0 has no tree"),
        after(
            "HardBias", [](auto& p) { p.hard[0].e = kInf; }, "hard row 0: e is inf, expected a finite value"),
        after(
            "HardJ", [](auto& p) { p.J_pool[p.hard[0].sides[0].J_start] = kInf; },
            "hard row 0 side 0: J is not finite"),
        after(
            "SoftDamping", [](auto& p) { p.soft[0].b = 0.0; }, "soft row 0: b is 0, expected > 0"),
        after(
            "SoftStiffness", [](auto& p) { p.soft[0].k = -2.0; }, "soft row 0: k is -2, expected >= 0"),
        after(
            "SoftNan", [](auto& p) { p.soft[0].b = kNan; }, "soft row 0: b is nan, expected > 0"),
        after(
            "EqualitySide", [](auto& p) { p.equality[0].sides[0].subsystem = 2; },
            "equality row 0 side 0: subsystem 2 does not exist (there are 2)"),
        after(
            "BoundedLimit", [](auto& p) { p.bounded[0].limit = -1e-3; },
            "bounded row 0: limit is -0.001, expected >= 0"),
        after(
            "BoundedNan", [](auto& p) { p.bounded[0].limit = kNan; }, "bounded row 0: limit is nan, expected >= 0"),
        after(
            "StartSize",
            [](auto& p) {
              p.v0 = {1.0, 2.0};
            },
            "v0: has 2 values, expected 6 or none"),
        after(
            "StartNan", [](auto& p) { p.lambda0.assign(7, kNan); }, "lambda0: entry 0 is not finite"),
        after(
            "StartLambda", [](auto& p) { p.lambda0.assign(6, 0.0); }, "lambda0: has 6 values, expected 7 or none")),
    [](const auto& case_info) { return case_info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Build, BadInput,
    ::testing::Values(
        building(
            "NotSquare", [](auto& p) { p.add_subsystem(MatX::Zero(2, 3), VecX::Zero(2)); },
            "subsystem 2: A is 2 x 3, expected a square matrix"),
        building(
            "Empty", [](auto& p) { p.add_subsystem(MatX(0, 0), VecX(0)); }, "subsystem 2: has 0 dofs, expected >= 1"),
        building(
            "LengthOfB", [](auto& p) { p.add_subsystem(Mat3::Identity(), VecX::Zero(4)); },
            "subsystem 2: b has 4 values, expected 3"),
        building(
            "Subsystem",
            [](auto& p) {
              p.add_contact(0.1, Vec3::Zero(), make_side(0, Mat3::Identity()), make_side(7, Mat3::Identity()));
            },
            "contact 1 side 1: subsystem 7 does not exist (there are 2)"),
        building(
            "SizeOfJ", [](auto& p) { p.add_contact(0.1, Vec3::Zero(), make_side(0, MatX::Zero(3, 6))); },
            "contact 1 side 0: J is 3 x 6, expected 3 x 3"),
        building(
            "NoJ", [](auto& p) { p.add_contact(0.1, Vec3::Zero(), make_side(1, MatX())); },
            "contact 1 side 0: J is 0 x 0, expected 3 x 3"),
        building(
            "RowOfJ", [](auto& p) { p.add_hard(0.0, {make_side(0, Mat3::Identity())}); },
            "hard row 1 side 0: J is 3 x 3, expected 1 x 3"),
        building(
            "NoSides", [](auto& p) { p.add_equality(0.0, {}); }, "equality row 1: has 0 sides, expected 1 or 2"),
        building(
            "ThreeSides", [](auto& p) { p.add_soft(0.0, 1.0, 1.0, std::vector<SideInput>(3)); },
            "soft row 1: has 3 sides, expected 1 or 2"),
        building(
            "BodyWithoutTree",
            [](auto& p) {
              SideInput side = make_side(0, MatX());
              side.body = 0;
              side.J_body = MatXr::Zero(1, 6);
              p.add_bounded(0.0, 1.0, {side});
            },
            "bounded row 1 side 0: body 0 is named but subsystem 0 has no tree"),
        building(
            "Body",
            [](auto& p) {
              SideInput side = make_side(p.add_tree(make_two_links(), VecX::Zero(2)), MatX());
              side.body = 2;
              p.add_hard(0.0, {side});
            },
            "hard row 1 side 0: body 2 does not exist (there are 2)"),
        building(
            "SizeOfBodyJacobian",
            [](auto& p) {
              SideInput side = make_side(p.add_tree(make_two_links(), VecX::Zero(2)), MatX());
              side.body = 1;
              side.J_body = MatXr::Zero(1, 5);
              p.add_hard(0.0, {side});
            },
            "hard row 1 side 0: J_body is 1 x 5, expected 1 x 6")),
    [](const auto& case_info) { return case_info.param.name; });

Case tree_case(const char* name, const std::function<void(Tree&)>& change, const char* message) {
  return {name,
          [change] {
            Tree tree = make_two_links();
            change(tree);
            ContactProblem problem;
            problem.add_tree(tree, VecX::Zero(2));
          },
          message};
}

INSTANTIATE_TEST_SUITE_P(Trees, BadInput,
                         ::testing::Values(tree_case(
                                               "Parent", [](Tree& tree) { tree.parent[1] = 1; },
                                               "subsystem 0 tree: body 1 has parent 1, expected -1 to 0"),
                                           tree_case(
                                               "ParentBelowGround", [](Tree& tree) { tree.parent[0] = -2; },
                                               "subsystem 0 tree: body 0 has parent -2, expected -1 to -1"),
                                           tree_case(
                                               "Offsets", [](Tree& tree) { tree.dof_offset.pop_back(); },
                                               "subsystem 0 tree: dof_offset has 2 entries, expected 3"),
                                           tree_case(
                                               "OffsetsDecrease",
                                               [](Tree& tree) {
                                                 tree.dof_offset = {0, 2, 1};
                                               },
                                               "subsystem 0 tree: dof_offset decreases at body 1"),
                                           tree_case(
                                               "OffsetsEnd",
                                               [](Tree& tree) {
                                                 tree.dof_offset = {0, 1, 1};
                                               },
                                               "subsystem 0 tree: dof_offset runs from 0 to 1, expected 0 to 2"),
                                           tree_case(
                                               "Inertias", [](Tree& tree) { tree.M.pop_back(); },
                                               "subsystem 0 tree: M has 1 inertias, expected 2"),
                                           tree_case(
                                               "Diagonal", [](Tree& tree) { tree.diagonal = VecX::Zero(3); },
                                               "subsystem 0 tree: diagonal has 3 entries, expected 2")),
                         [](const auto& case_info) { return case_info.param.name; });

TEST(BadTree, MustReproduceA) {
  ContactProblem problem = scenes::make_closed_chain(3, 1).problem;
  problem.validate();
  problem.trees[0].diagonal[0] += 0.5;
  EXPECT_EQ(error_of([&] { problem.validate(); }),
            "subsystem 0: the tree does not reproduce A (largest difference 0.5)");
}

TEST(BadTree, BodyJacobianMustReproduceJ) {
  ContactProblem problem = scenes::make_closed_chain(3, 1).problem;
  problem.J_pool[problem.contacts[0].sides[0].J_start] += 0.25;
  EXPECT_EQ(error_of([&] { problem.validate(); }),
            "contact 0 side 0: J_body does not reproduce J (largest difference 0.25)");
}

Case matrices(const char* name, const MatX& A, const VecX& b, const MatX& J, const VecX& e, const VecX& mu,
              const std::vector<int>& offsets, const char* message) {
  return {name, [=] { static_cast<void>(make_problem(A, b, J, e, mu, offsets)); }, message};
}

const MatX kEye = MatX::Identity(6, 6);
const VecX kSix = VecX::Zero(6), kThree = VecX::Zero(3), kOne = VecX::Zero(1);
const MatX kJ = MatX::Ones(3, 6);

INSTANTIATE_TEST_SUITE_P(
    Matrices, BadInput,
    ::testing::Values(
        matrices("SquareA", MatX::Zero(6, 5), kSix, kJ, kThree, kOne, {}, "A: is 6 x 5, expected a square matrix"),
        matrices("LengthOfB", kEye, kThree, kJ, kThree, kOne, {}, "b: has 3 values, expected 6"),
        matrices("RowsOfJ", kEye, kSix, MatX::Ones(4, 6), kThree, kOne, {}, "J: is 4 x 6, expected 3 x 6"),
        matrices("ColumnsOfJ", kEye, kSix, MatX::Ones(3, 5), kThree, kOne, {}, "J: is 3 x 5, expected 3 x 6"),
        matrices("LengthOfE", kEye, kSix, kJ, kSix, kOne, {}, "e: has 6 values, expected 3"),
        matrices("NanInA", kNan* kEye, kSix, kJ, kThree, kOne, {}, "A: is not finite"),
        matrices("NanInJ", kEye, kSix, kNan* kJ, kThree, kOne, {}, "J: is not finite"),
        matrices("OffsetsStart", kEye, kSix, kJ, kThree, kOne, {1, 6},
                 "subsystem_offsets: run from 1 to 6, expected 0 to 6"),
        matrices("OffsetsEnd", kEye, kSix, kJ, kThree, kOne, {0, 5},
                 "subsystem_offsets: run from 0 to 5, expected 0 to 6"),
        matrices("OffsetsOrder", kEye, kSix, kJ, kThree, kOne, {0, 4, 4, 6},
                 "subsystem_offsets: entry 2 is 4, expected > 4"),
        matrices("OffsetsCut", MatX::Ones(6, 6), kSix, kJ, kThree, kOne, {0, 3, 6},
                 "subsystem 0: A couples it to another subsystem"),
        matrices("ThreeSubsystems", kEye, kSix, kJ, kThree, kOne, {0, 2, 4, 6},
                 "contact 0: touches 3 subsystems, expected 1 or 2")),
    [](const auto& case_info) { return case_info.param.name; });

Case setting(const char* name, const std::function<void(Settings&)>& change, const char* message) {
  return {name,
          [change] {
            Settings settings;
            change(settings);
            settings.validate();
          },
          message};
}

INSTANTIATE_TEST_SUITE_P(
    Settings, BadInput,
    ::testing::Values(
        setting(
            "Tol", [](Settings& s) { s.tol = 0.0; }, "settings: tol is 0, expected a finite value > 0"),
        setting(
            "TolNan", [](Settings& s) { s.tol = kNan; }, "settings: tol is nan, expected a finite value > 0"),
        setting(
            "Iterations", [](Settings& s) { s.max_iterations = -1; }, "settings: max_iterations is -1, expected >= 0"),
        setting(
            "Budget", [](Settings& s) { s.budget_ms = -5.0; },
            "settings: budget_ms is -5, expected a finite value >= 0"),
        setting(
            "BudgetInfinite", [](Settings& s) { s.budget_ms = kInf; },
            "settings: budget_ms is inf, expected a finite value >= 0"),
        setting(
            "Threads", [](Settings& s) { s.threads = 0; }, "settings: threads is 0, expected 1 to 1024"),
        setting(
            "Fixed", [](Settings& s) { s.fixed_iterations = true; },
            "settings: max_iterations is 0, expected >= 1 with fixed_iterations"),
        setting(
            "C0", [](Settings& s) { s.canal_c0 = -1.0; }, "settings: canal_c0 is -1, expected a finite value > 0"),
        setting(
            "Kappa", [](Settings& s) { s.canal_kappa = 1.0; },
            "settings: canal_kappa is 1, expected a finite value > 1"),
        setting(
            "Zeta", [](Settings& s) { s.canal_zeta = 1.0; }, "settings: canal_zeta is 1, expected between 0 and 1"),
        setting(
            "CMax", [](Settings& s) { s.canal_c_max = 10.0; },
            "settings: canal_c_max is 10, expected a finite value >= canal_c0"),
        setting(
            "InnerTol", [](Settings& s) { s.canal_inner_tol = 0.0; },
            "settings: canal_inner_tol is 0, expected between 0 and 1"),
        setting(
            "AdmmC0", [](Settings& s) { s.admm_c0 = 0.0; }, "settings: admm_c0 is 0, expected a finite value > 0"),
        setting(
            "Gamma", [](Settings& s) { s.admm_gamma = 0.5; },
            "settings: admm_gamma is 0.5, expected a finite value > 1"),
        setting(
            "Relax", [](Settings& s) { s.admm_relax = 2.0; }, "settings: admm_relax is 2, expected between 0 and 2"),
        setting(
            "Anderson", [](Settings& s) { s.admm_anderson = -3; }, "settings: admm_anderson is -3, expected 0 to 64"),
        setting(
            "Omega", [](Settings& s) { s.pgs_omega = kNan; }, "settings: pgs_omega is nan, expected between 0 and 2"),
        setting(
            "PgsAnderson", [](Settings& s) { s.pgs_anderson = 65; }, "settings: pgs_anderson is 65, expected 0 to 64"),
        setting(
            "Solver", [](Settings& s) { s.solver = static_cast<SolverKind>(9); },
            "settings: solver is 9, expected 0 to 8"),
        setting(
            "Inner", [](Settings& s) { s.canal_inner = static_cast<InnerSolver>(3); },
            "settings: canal_inner is 3, expected 0 to 2")),
    [](const auto& case_info) { return case_info.param.name; });

TEST(Names, SolversRoundTripAndUnknownOnesSuggest) {
  for (const SolverKind kind : testing::all_solvers()) EXPECT_EQ(solver_from_string(to_string(kind)), kind);
  const auto message = [](const char* name) {
    return error_of([name] { static_cast<void>(solver_from_string(name)); });
  };
  EXPECT_EQ(message("cannal"), "unknown solver \"cannal\", did you mean \"canal\"?");
  EXPECT_EQ(message("admm-no-sub"), "unknown solver \"admm-no-sub\", did you mean \"admm-nosub\"?");
  EXPECT_EQ(
      message("foo"),
      "unknown solver \"foo\"; known: auto, canal, subadmm, spn, pgs, admm-nosub, admm-nobody, dogleg, damped-sn");
  EXPECT_EQ(message("SPN"), "unknown solver \"SPN\", did you mean \"spn\"?");
  EXPECT_EQ(message("sub-admm"), "unknown solver \"sub-admm\", did you mean \"subadmm\"?");
}

TEST(Names, EveryStatusHasItsOwn) {
  std::vector<std::string> names;
  for (int s = 0; s <= static_cast<int>(Status::kNumericalError); ++s)
    names.push_back(to_string(static_cast<Status>(s)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::count(names.begin(), names.end(), "unknown"), 0);
}

TEST(BadCertificateInput, SizesAreChecked) {
  const ContactProblem problem = make_small();
  EXPECT_EQ(error_of([&] { static_cast<void>(make_certificate(problem, VecX::Zero(5), VecX::Zero(7))); }),
            "v: has 5 values, expected 6");
  EXPECT_EQ(error_of([&] { static_cast<void>(make_certificate(problem, VecX::Zero(6), VecX::Zero(8))); }),
            "lambda: has 8 values, expected 7");
  EXPECT_EQ(error_of([&] { static_cast<void>(compute_velocity(problem, VecX::Zero(8))); }),
            "lambda: has 8 values, expected 7");
}

TEST(GoodInput, IsAccepted) {
  EXPECT_EQ(error_of([] { make_small().validate(); }), "");
  EXPECT_EQ(error_of([] { ContactProblem().validate(); }), "");
  EXPECT_EQ(error_of([] { Settings().validate(); }), "");
}

}  // namespace
}  // namespace almond
