// Proves that a live simulation obeys: pause, single steps, reset, settings, a hand that drags; and that nonsense is
// refused in words, from several threads at once.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "almond/base/check.hpp"
#include "almond/model/builder.hpp"
#include "almond/view/live.hpp"

namespace almond {
namespace {

using Json = nlohmann::json;

LiveWorld make_world() {
  LiveWorld world;
  world.title = "ball";
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, 0.1));
  BodySpec slider;
  slider.name = "slider";
  slider.joint = make_joint(JointKind::kPrismatic, Vec3::UnitX());
  slider.mass = 1.0;
  slider.inertia = Mat3::Identity() * 0.01;
  const int body = builder.add_body(slider);
  Drive drive;
  drive.joint = body;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 100.0;
  drive.damping = 20.0;
  builder.add_drive(drive);
  world.model = builder.build();
  world.looks = make_looks(world.model, {});
  return world;
}

/// Waits until a snapshot fulfils the condition.
template <class Condition>
Json wait_for(Live& live, const Condition& condition) {
  std::int64_t seen = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = live.wait_for_snapshot(seen, 1000.0);
    if (text.empty()) continue;
    const Json snapshot = Json::parse(text);
    if (condition(snapshot)) return snapshot;
  }
  ADD_FAILURE() << "never";
  return {};
}

TEST(Live, RunsInRealTimePausesAndSteps) {
  Live live(make_world);
  wait_for(live, [](const Json& s) { return s["time"] > 0.1; });
  live.post(R"({"type":"pause"})");
  const Json paused = wait_for(live, [](const Json& s) { return s["paused"] == true; });
  const std::int64_t step = paused["step"];
  for (int i = 1; i <= 3; ++i) {
    live.post(R"({"type":"step"})");
    const Json next = wait_for(live, [&](const Json& s) { return s["step"] >= step + i; });
    EXPECT_EQ(next["step"], step + i);
  }
  EXPECT_EQ(paused["status"], "solved");
  EXPECT_EQ(paused["p"].size(), 6U);
  EXPECT_EQ(paused["contacts"].size(), 1U);
  EXPECT_NEAR(paused["contacts"][0][8].get<double>(), 9.81, 1e-2);  // the ball's weight
  live.post(R"({"type":"reset"})");
  const Json again = wait_for(live, [](const Json& s) { return s["world"] == 2; });
  EXPECT_EQ(again["step"], 0);
}

TEST(Live, StandsStillUntilSomebodyLooks) {
  Live live(make_world, true);
  std::int64_t seen = 0;
  EXPECT_EQ(Json::parse(live.wait_for_snapshot(seen, 5000.0))["time"], 0.0);
  EXPECT_TRUE(live.wait_for_snapshot(seen, 200.0).empty());
  live.let_go();
  const Json first = Json::parse(live.wait_for_snapshot(seen, 5000.0));
  EXPECT_LT(first["time"].get<double>(), 0.1);  // what was missed is not caught up
  wait_for(live, [](const Json& s) { return s["time"] > 0.05; });
}

TEST(Live, HandDragsABody) {
  Live live(make_world);
  // The spring holds it where the hand is, less its weight: g / 15² below.
  const Json held = wait_for(live, [&](const Json& s) {
    live.post(R"({"type":"drag","viewer":"a","body":0,"local":[0,0,0],"target":[0.3,0.2,0.6]})");
    return std::hypot(s["p"][0].get<double>() - 0.3, s["p"][1].get<double>() - 0.2) < 1e-3 &&
           std::abs(s["p"][2].get<double>() - 0.6 + 9.81 / 225.0) < 1e-3;
  });
  ASSERT_FALSE(held.is_null());
  live.post(R"({"type":"release","viewer":"a"})");
  wait_for(live, [](const Json& s) { return s["p"][2].get<double>() < 0.11; });
}

TEST(Live, PullEndsWithItsPageAndNotWithAnothers) {
  Live live(make_world);
  wait_for(live, [&](const Json& s) {
    live.post(R"({"type":"drag","viewer":"a","body":0,"local":[0,0,0],"target":[0,0,0.6]})");
    live.post(R"({"type":"release","viewer":"b"})");
    return s["p"][2].get<double>() > 0.5;
  });
  // Not renewed, as when a tab is closed.
  wait_for(live, [](const Json& s) { return s["p"][2].get<double>() < 0.11; });
}

TEST(Live, SettingsAct) {
  Live live(make_world);
  live.post(R"({"type":"set","name":"gravity","value":1.62})");
  wait_for(live, [](const Json& s) {
    return s["contacts"].size() == 1 && std::abs(s["contacts"][0][8].get<double>() - 1.62) < 1e-2;
  });
  live.post(R"({"type":"set","name":"solver","value":"pgs"})");
  live.post(R"({"type":"set","name":"dt","value":0.001})");
  live.post(R"({"type":"set","name":"friction","value":0.5})");
  live.post(R"({"type":"set","name":"drive0","value":0.4})");
  wait_for(live, [](const Json& s) { return std::abs(s["p"][3].get<double>() - 0.4) < 1e-3; });
  const Json controls = Json::parse(live.controls());
  EXPECT_EQ(controls["choices"][0]["value"], "pgs");
  for (const Json& slider : controls["sliders"]) {
    if (slider["name"] == "dt") {
      EXPECT_DOUBLE_EQ(slider["value"].get<double>(), 0.001);
    }
    if (slider["name"] == "gravity") {
      EXPECT_NEAR(slider["value"].get<double>(), 1.62, 1e-12);
    }
    if (slider["name"] == "drive0") {
      EXPECT_DOUBLE_EQ(slider["value"].get<double>(), 0.4);
    }
  }
  const Json inside = Json::parse(live.inside());
  EXPECT_EQ(inside["contacts"].size(), 1U);
  EXPECT_EQ(inside["traces"].size(), 2U);
  EXPECT_EQ(live.problem().substr(0, 2), "PK");
  EXPECT_EQ(live.problem(inside["step"].get<std::int64_t>()).substr(0, 2), "PK");
  EXPECT_THROW(static_cast<void>(live.problem(1000000)), Error);
}

/// The value of a slider, or the choice of that name.
Json control(Live& live, const std::string& name) {
  const Json controls = Json::parse(live.controls());
  for (const char* kind : {"choices", "sliders"})
    for (const Json& each : controls[kind])
      if (each["name"] == name) return each["value"];
  return {};
}

TEST(Live, SettingsOutliveAResetUntilTheyAreTakenBack) {
  Live live(make_world);
  const double dt = control(live, "dt"), gravity = control(live, "gravity");
  live.post(R"({"type":"set","name":"solver","value":"pgs"})");
  live.post(R"({"type":"set","name":"max_iterations","value":7})");
  live.post(R"({"type":"set","name":"gravity","value":1.62})");
  live.post(R"({"type":"set","name":"friction","value":0.5})");
  live.post(R"({"type":"set","name":"dt","value":0.001})");
  live.post(R"({"type":"reset"})");
  wait_for(live, [](const Json& s) {
    return s["world"] == 2 && s["contacts"].size() == 1 && std::abs(s["contacts"][0][8].get<double>() - 1.62) < 1e-2;
  });
  EXPECT_EQ(control(live, "solver"), "pgs");
  EXPECT_EQ(control(live, "max_iterations"), 7);
  EXPECT_EQ(control(live, "friction"), 0.5);
  EXPECT_EQ(control(live, "dt"), 0.001);
  live.post(R"({"type":"defaults"})");
  wait_for(live, [](const Json& s) {
    return s["contacts"].size() == 1 && std::abs(s["contacts"][0][8].get<double>() - 9.81) < 1e-2;
  });
  EXPECT_EQ(control(live, "solver"), "auto");
  EXPECT_EQ(control(live, "max_iterations"), 0);
  EXPECT_EQ(control(live, "friction"), 1.0);
  EXPECT_EQ(control(live, "dt"), dt);
  EXPECT_EQ(control(live, "gravity"), gravity);
}

TEST(Live, NonsenseIsRefusedAndChangesNothing) {
  Live live(make_world);
  for (const char* text :
       {"", "{", "[]", R"({"type":"fly"})", R"({"type":7})", R"({"type":"set"})",
        R"({"type":"set","name":"mass","value":1})", R"({"type":"set","name":"dt","value":"slow"})",
        R"({"type":"set","name":"solver","value":"magic"})", R"({"type":"set","name":"dt","value":null})",
        R"({"type":"drag","body":9,"local":[0,0,0],"target":[0,0,0]})",
        R"({"type":"drag","body":4294967296,"local":[0,0,0],"target":[0,0,0]})",
        R"({"type":"drag","body":-1,"local":[0,0,0],"target":[0,0,0]})",
        R"({"type":"drag","body":0,"local":[100000,0,0],"target":[0,0,0]})", R"({"type":"release","viewer":7})",
        R"({"type":"drag","body":0,"local":[0,0],"target":[0,0,0]})",
        R"({"type":"drag","body":0,"local":[0,0,0],"target":[0,"a",0]})",
        R"({"type":"drag","body":0,"local":[0,0,0],"target":[0,0,1e300]})"})
    EXPECT_THROW(live.post(text), Error) << text;
  wait_for(live, [](const Json& s) { return s["step"] > 10; });
}

TEST(Live, RefusalsNameFieldValueAndRange) {
  Live live(make_world);
  const auto error_of = [&live](const char* text) -> std::string {
    try {
      live.post(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  const double dt = control(live, "dt");
  EXPECT_EQ(error_of(R"({"type":"set","name":"dt","value":-1})"),
            "command set \"dt\": -1 is out of range, expected 0.0001 to 0.02 s");
  EXPECT_EQ(error_of(R"({"type":"set","name":"speed","value":1e300})"),
            "command set \"speed\": 1e+300 is out of range, expected 0.05 to 4 x");
  EXPECT_EQ(error_of(R"({"type":"step","count":1e18})"), "command step: no such field, \"count\"");
  EXPECT_EQ(error_of(R"({"type":"drag","body":0,"local":[0,0,0],"target":[0,0,-2e6]})"),
            "command drag: target [0,0,-2000000.0] is out of range, expected at most 1e+06 m from the origin");
  for (const char* text :
       {R"({"type":"set","name":"dt","value":1e300})", R"({"type":"set","name":"budget_ms","value":-0.001})",
        R"({"type":"set","name":"drive0","value":1e9})"})
    EXPECT_TRUE(error_of(text).find(" is out of range, expected ") != std::string::npos) << text;
  EXPECT_EQ(control(live, "dt"), dt);
}

TEST(Live, EndsOfSlidersAreTakenAsThePageRoundsThem) {
  Live live(make_world);
  live.post(R"({"type":"pause"})");
  const auto sliders = Json::parse(live.controls())["sliders"];
  for (const Json& slider : sliders)
    for (const char* end : {"min", "max"}) {
      char rounded[32];
      std::snprintf(rounded, sizeof rounded, "%.6g", slider[end].get<double>());
      const std::string name = slider["name"];
      EXPECT_NO_THROW(live.post(R"({"type":"set","name":")" + name + R"(","value":)" + rounded + "}")) << name;
    }
}

TEST(Live, ManyThreadsAtOnce) {
  Live live(make_world);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&live, t] {
      std::int64_t seen = 0;
      for (int i = 0; i < 20; ++i) {
        live.post(i % 2 == 0 ? R"({"type":"pause"})" : R"({"type":"play"})");
        static_cast<void>(live.wait_for_snapshot(seen, 50.0));
        if (t == 0) static_cast<void>(live.scene());
        if (t == 1) static_cast<void>(live.controls());
        if (t == 2 && i == 10) live.post(R"({"type":"reset"})");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  live.stop();
  std::int64_t seen = 0;
  EXPECT_TRUE(live.wait_for_snapshot(seen, 10.0).empty());
}

}  // namespace
}  // namespace almond
