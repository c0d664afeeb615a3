// Proves that a state is everything: a copy, or its bytes read back, go on with the same bits as the run that never
// stopped; and that bytes which are no such state are refused.

#include <gtest/gtest.h>

#include <cstring>

#include "almond/sim/state.hpp"
#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::error_of;
using testing::SceneRun;

struct Case {
  std::string name;
  std::vector<std::pair<std::string, double>> values;
  int before, after;
};

class Snapshots : public ::testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] SceneRun make_run() const { return SceneRun(scenes::make_scene(GetParam().name, GetParam().values)); }
};

TEST_P(Snapshots, GoOnWithTheSameBits) {
  SceneRun run = make_run();
  run.steps(GetParam().before);
  const State copy = run.sim.state();
  const std::string bytes = serialize(copy);
  run.steps(GetParam().after);
  const std::string end = serialize(run.sim.state());
  EXPECT_NE(end, bytes);

  run.sim.state() = copy;  // the workspace has seen the future
  run.steps(GetParam().after);
  EXPECT_EQ(serialize(run.sim.state()), end) << "copy, same workspace";

  SceneRun fresh = make_run();
  fresh.sim.state() = deserialize(bytes, fresh.sim.model(), "bytes");
  EXPECT_EQ(serialize(fresh.sim.state()), bytes);
  EXPECT_EQ(state_hash(fresh.sim.state()), state_hash(copy));
  fresh.steps(GetParam().after);
  EXPECT_EQ(serialize(fresh.sim.state()), end) << "bytes, fresh workspace";
}

INSTANTIATE_TEST_SUITE_P(Scenes, Snapshots,
                         ::testing::Values(Case{"spheres", {{"count", 45.0}}, 40, 40},
                                           Case{"quadrupeds", {{"robots", 2.0}}, 60, 40},
                                           Case{"gripper", {{"shake", 0.05}}, 50, 50},
                                           // Stopped between a landing and its bounce too: step 76 or 77 at 240 Hz.
                                           Case{"ball", {{"restitution", 0.7}}, 76, 60},
                                           Case{"ball", {{"restitution", 0.7}}, 77, 60}, Case{"four_bar", {}, 30, 30}),
                         [](const auto& each) {
                           return testing::test_name(each.param.name + std::to_string(each.param.before));
                         });

TEST(State, EverySolverForgetsWhatItLearnt) {
  // Penalties, orderings and steps that a solver adapts lie in the workspace: they must not reach the next step.
  for (const SolverKind kind : {SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kSpn, SolverKind::kPgs}) {
    scenes::Scene scene = scenes::make_scene("quadrupeds", {{"robots", 1.0}});
    scene.options.solver.solver = kind;
    SceneRun run(scene), fresh(scene);
    run.steps(50);
    const State copy = run.sim.state();
    run.steps(20);
    const std::string end = serialize(run.sim.state());
    run.sim.state() = copy;
    run.steps(20);
    EXPECT_TRUE(serialize(run.sim.state()) == end) << to_string(kind) << ", same workspace";
    fresh.sim.state() = copy;
    fresh.steps(20);
    EXPECT_TRUE(serialize(fresh.sim.state()) == end) << to_string(kind) << ", fresh workspace";
  }
}

TEST(State, BelongsToItsModel) {
  // The same joints and the same sizes of q and v, but another mass on top.
  const SceneRun light(scenes::make_scene("tower", {{"top", 5.0}})),
      heavy(scenes::make_scene("tower", {{"top", 500.0}}));
  const std::string bytes = serialize(light.sim.state());
  EXPECT_NO_THROW(static_cast<void>(deserialize(bytes, light.sim.model(), "bytes")));
  try {
    static_cast<void>(deserialize(bytes, heavy.sim.model(), "bytes"));
    FAIL() << "taken for its own";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bytes: was saved from another model"), std::string::npos) << error.what();
  }
}

TEST(State, CarriesItsRandomNumbers) {
  SceneRun run(scenes::make_scene("ball"));
  for (int i = 0; i < 10; ++i) run.sim.state().rng.next();
  State copy = deserialize(serialize(run.sim.state()), run.sim.model(), "bytes");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(copy.rng.next(), run.sim.state().rng.next());
}

TEST(State, RandomNumbersAreXoshiro) {
  // xoshiro256** by Blackman and Vigna from the state 1, 2, 3, 4: first outputs of the reference implementation.
  Rng rng;
  for (std::uint64_t i = 0; i < 4; ++i) rng.s[i] = i + 1;
  for (const std::uint64_t expected :
       {11520ULL, 0ULL, 1509978240ULL, 1215971899390074240ULL, 1216172134540287360ULL, 607988272756665600ULL})
    EXPECT_EQ(rng.next(), expected);
  // SplitMix64 from the seed 0.
  EXPECT_EQ(Rng(0).s[0], 0xe220a8397b1dcdafULL);
  EXPECT_EQ(Rng(0).s[1], 0x6e789e6aa1b965f4ULL);
  EXPECT_NE(Rng(1).next(), Rng(2).next());
}

// ---------------------------------------------------------------- bytes that are no state

class Bytes : public ::testing::Test {
 protected:
  Bytes() : run(scenes::make_scene("tower", {{"cubes", 3.0}})) {
    run.steps(5);
    bytes = serialize(run.sim.state());
  }
  [[nodiscard]] std::string error(const std::string& text) const {
    return error_of([&] { static_cast<void>(deserialize(text, run.sim.model(), "file.state")); });
  }
  /// With a checksum that fits.
  static std::string sign(std::string text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (std::size_t i = 0; i + 8 < text.size(); ++i)
      hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3ULL;
    std::memcpy(text.data() + text.size() - 8, &hash, 8);
    return text;
  }
  SceneRun run;
  std::string bytes;
};

TEST_F(Bytes, EveryFlippedBitIsFound) {
  ASSERT_EQ(error(bytes), "");
  ASSERT_EQ(sign(bytes), bytes);
  ASSERT_GT(run.sim.state().contacts.size(), 3U);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_NE(error(damaged).find("file.state: is "), std::string::npos) << i;
  }
}

TEST_F(Bytes, EveryCutIsFound) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_NE(error(bytes.substr(0, i)).find("file.state: "), std::string::npos);
  EXPECT_NE(error(bytes + "x"), "");
  // Cuts that somebody signed.
  for (std::size_t i = 24; i < bytes.size(); ++i) EXPECT_NE(error(sign(bytes.substr(0, i))), "") << i;
  EXPECT_NE(error(sign(bytes + "12345678")).find("behind its end"), std::string::npos);
}

TEST_F(Bytes, ForeignBytesAreRefused) {
  EXPECT_NE(error("").find("no almond state"), std::string::npos);
  EXPECT_NE(error("PK\3\4 this is a zip file, and longer than a mark").find("no almond state"), std::string::npos);
  std::string later = bytes;
  later[7] = '3';
  EXPECT_NE(error(sign(later)).find("almondS2"), std::string::npos);
}

TEST_F(Bytes, AnotherModelIsRefused) {
  const Model four = scenes::make_tower_model(4, 5.0, 0.6);
  const std::string message = error_of([&] { static_cast<void>(deserialize(bytes, four, "file.state")); });
  EXPECT_EQ(message, "file.state: has 28 positions, the model has 35");
}

TEST_F(Bytes, WildNumbersAreRefused) {
  // Signed, so that only a look at the numbers can find them.
  const auto with = [&](std::size_t at, double value) {
    std::string text = bytes;
    std::memcpy(text.data() + at, &value, sizeof value);
    return error(sign(text));
  };
  const std::size_t q = 24, v = q + 28 * 8 + 8, time = v + 24 * 8, contacts = time + 8 + 8 + 32 + 8;
  EXPECT_NE(with(q + 8, kNaN).find("positions"), std::string::npos);
  EXPECT_NE(with(v + 8, kInfinity).find("velocities"), std::string::npos);
  for (const double wild : {kNaN, kInfinity, 1e308, -1e13})
    EXPECT_NE(with(time, wild).find("time"), std::string::npos) << wild;
  for (const std::int64_t steps : {std::int64_t{-5}, INT64_MIN, INT64_MAX}) {
    std::string text = bytes;
    std::memcpy(text.data() + time + 8, &steps, sizeof steps);
    EXPECT_NE(error(sign(text)).find(std::to_string(steps) + " steps"), std::string::npos) << steps;
  }
  EXPECT_NE(with(q + 3 * 8, 0.5).find("quaternion"), std::string::npos) << "not a rotation";
  EXPECT_NE(with(contacts + 12, kNaN).find("impulse"), std::string::npos);
  EXPECT_EQ(with(q + 8, 0.125), "") << "the offsets of this test are right";
  // Counts that do not fit.
  for (const std::uint64_t count : {std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{0}}) {
    std::string text = bytes;
    std::memcpy(text.data() + contacts - 8, &count, sizeof count);
    EXPECT_NE(error(sign(text)), "") << count;
  }
}

TEST(State, HashSeesEveryBit) {
  SceneRun run(scenes::make_scene("quadrupeds", {{"robots", 1.0}}));
  run.steps(3);
  const State state = run.sim.state();
  const std::uint64_t hash = state_hash(state);
  EXPECT_EQ(state_hash(State(state)), hash);
  const auto nudge = [](double& x) { x = std::nextafter(x, 1e300); };
  for (Eigen::Index i = 0; i < state.q.size(); ++i) {
    State other = state;
    nudge(other.q[i]);
    EXPECT_NE(state_hash(other), hash) << i;
  }
  for (Eigen::Index i = 0; i < state.v.size(); ++i) {
    State other = state;
    nudge(other.v[i]);
    EXPECT_NE(state_hash(other), hash) << i;
  }
  State other = state;
  nudge(other.time);
  EXPECT_NE(state_hash(other), hash);
  EXPECT_EQ(hash_text(0x0123456789abcdefULL), "0123456789abcdef");
  EXPECT_EQ(hash_text(1), "0000000000000001");
}

}  // namespace
}  // namespace almond
