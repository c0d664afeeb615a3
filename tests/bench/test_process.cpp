// Other programs, and copies of this one: what they do wrong is a result.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "almond/load/file_io.hpp"
#include "bench/process.hpp"

namespace almond::bench {
namespace {

TEST(Process, CopyHandsItsResultOverInAFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/answer";
  int touched = 0;
  const ProcessResult result = run_apart(
      [&] {
        touched = 1;
        write_file(file, "42");
      },
      10e3);
  EXPECT_TRUE(result.started);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(read_file(file), "42");
  EXPECT_EQ(touched, 0);  // memory is the copy's own
}

TEST(Process, ExceptionOfACopyIsToldByItsText) {
  const ProcessResult result = run_apart([] { throw std::runtime_error("no such luck"); }, 10e3);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "no such luck");
}

TEST(Process, CrashOfACopyIsItsSignal) {
  const ProcessResult result = run_apart([] { std::raise(SIGKILL); }, 10e3);
  EXPECT_EQ(result.exit_code, -SIGKILL);
  EXPECT_FALSE(result.timed_out);
}

TEST(Process, CopyThatHangsIsStopped) {
  const ProcessResult result = run_apart([] { std::this_thread::sleep_for(std::chrono::seconds(60)); }, 50.0);
  EXPECT_TRUE(result.timed_out);
}

TEST(Process, ProgramThatIsNotThere) { EXPECT_FALSE(run_process({"/nowhere/program"}, 10e3).started); }

TEST(Process, LastLineOfErrors) {
  const ProcessResult result = run_process({"sh", "-c", "echo first >&2; echo last >&2; exit 7"}, 10e3);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.errors, "last");
}

}  // namespace
}  // namespace almond::bench
