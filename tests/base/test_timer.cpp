// Stopwatch and CPU time: pauses are not counted, time only grows, a sleeping thread uses no CPU.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "almond/base/timer.hpp"

namespace almond {
namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Stopwatch, CountsWhileRunningAndNotWhilePaused) {
  Stopwatch total, watch;
  sleep_ms(3);
  watch.pause();
  const double at_pause = watch.elapsed_ms();
  EXPECT_GE(at_pause, 3.0);
  sleep_ms(5);
  EXPECT_EQ(watch.elapsed_ms(), at_pause);
  EXPECT_FALSE(watch.running());
  watch.resume();
  sleep_ms(2);
  watch.pause();
  EXPECT_GE(watch.elapsed_ms(), at_pause + 2.0);
  EXPECT_LE(watch.elapsed_ms(), total.elapsed_ms() - 5.0);
}

TEST(Stopwatch, RepeatedPauseAndResumeChangeNothing) {
  Stopwatch watch;
  sleep_ms(2);
  watch.resume();
  EXPECT_GE(watch.elapsed_ms(), 2.0);
  watch.pause();
  const double at_pause = watch.elapsed_ms();
  watch.pause();
  EXPECT_EQ(watch.elapsed_ms(), at_pause);
}

TEST(Stopwatch, RestartForgetsEverything) {
  Stopwatch total, watch;
  sleep_ms(20);
  watch.pause();
  watch.restart();
  EXPECT_TRUE(watch.running());
  EXPECT_LE(watch.elapsed_ms(), total.elapsed_ms() - 20.0);
}

TEST(ThreadCpu, SleepCostsLittleAndWorkCostsTime) {
  Stopwatch wall;
  const double before = thread_cpu_ms();
  sleep_ms(50);
  EXPECT_LE(thread_cpu_ms() - before, 0.5 * wall.elapsed_ms());
  const double start = thread_cpu_ms();
  volatile double x = 1.0;
  wall.restart();
  while (thread_cpu_ms() - start < 5.0) x = x * 1.0000001;
  EXPECT_GE(wall.elapsed_ms(), 4.9);  // CPU time of one thread cannot outrun the wall clock, but for rounding
}

}  // namespace
}  // namespace almond
