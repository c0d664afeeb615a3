// MuJoCo's warnings become notes, each once; no file is left in the current folder; a program's own handlers of MuJoCo
// are as before; what cannot go on ends with its message.

#include <gtest/gtest.h>

#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/mujoco_api.hpp"
#include "almond/load/mujoco_messages.hpp"
#include "load/load_fixture.hpp"

namespace almond::testing {
namespace {

class MujocoSays : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(path("."));
    if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo";
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    FolderTest::TearDown();
  }
  FileNotes load(const std::string& text) {
    ModelBuilder builder;
    FileNotes notes;
    static_cast<void>(add_mjcf_text(builder, text, "", {}, notes));
    return notes;
  }

 private:
  std::filesystem::path before_;
};

const char* const kWarned =
    "<mujoco><compiler settotalmass='3'/><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>";

TEST_F(MujocoSays, WarningsBecomeNotesOnceAndLeaveNoFile) {
  for (int k = 0; k < 2; ++k) {
    const FileNotes notes = load(kWarned);
    ASSERT_EQ(notes.said.size(), 1U);
    EXPECT_EQ(notes.said[0].rfind("MuJoCo: ", 0), 0U);
    EXPECT_NE(notes.said[0].find("settotalmass"), std::string::npos);
    EXPECT_EQ(notes.said[0].find('\n'), std::string::npos);
  }
  EXPECT_THROW(load("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>"), Error);
  EXPECT_THROW(load("<mujoco"), Error);
  EXPECT_EQ(count_files(), 0);
}

TEST_F(MujocoSays, HandlersOfTheProgramAreGivenBack) {
  static int heard = 0;
  const MujocoApi& mj = mujoco_api("test");
  const auto error = *mj.user_error, warning = *mj.user_warning;
  *mj.user_warning = [](const char*) { ++heard; };
  load(kWarned);
  EXPECT_EQ(heard, 0);
  (*mj.user_warning)("to the program");
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(*mj.user_error, error);
  *mj.user_warning = warning;
}

TEST_F(MujocoSays, AnErrorThatCannotReturnEndsTheProcessWithItsMessage) {
  const auto fail = [] {
    std::vector<std::string> lines;
    const MujocoMessages messages(lines);
    (*mujoco_api("test").user_error)("no memory for 7 things");
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(EXIT_FAILURE), "MuJoCo: no memory for 7 things");
  EXPECT_EQ(count_files(), 0);
}

TEST_F(MujocoSays, HeightFieldsThatFitIntoNoMemoryAreRefusedBeforehand) {
  try {
    load("<mujoco><asset>\n<hfield name='h' nrow='100000' ncol='100000' size='1 1 1 1'/></asset></mujoco>");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "text:2: hfield has 100000 x 100000 points, expected at most 67108864 in all");
  }
}

}  // namespace
}  // namespace almond::testing
