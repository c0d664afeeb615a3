// The example of an error in README.md compiles as printed, and says what its comment says. tests/test_docs.py compares
// the two texts.
#include <gtest/gtest.h>

#include "almond/almond.hpp"

TEST(Readme, WrongInputThrowsOneLine) {
  ::testing::internal::CaptureStderr();
  almond::ModelBuilder world;
  try {
    world.add_solid("cube", almond::Box{{0.05, 0.05, 0.05}}, -1.0, almond::Pose{});
  } catch (const almond::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());  // body "cube": mass is -1, expected finite and > 0
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "body \"cube\": mass is -1, expected finite and > 0\n");
}
