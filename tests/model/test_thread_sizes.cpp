// Sizes of threads, and lengths of bolts.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "almond/model/thread.hpp"
#include "common/helpers.hpp"

namespace almond {
namespace {

TEST(Bolt, LengthsThatAreNoneAreRefused) {
  const MetricThread m20 = find_thread("M20");
  const auto make = [&](double length, double thread_length) {
    return testing::error_of([&] { static_cast<void>(make_bolt(m20, {length, thread_length, true})); });
  };
  testing::expect_words(make(-0.03, 0.0), "bolt: length is -0.03, expected finite and > 0");
  testing::expect_words(make(kNaN, 0.0), "bolt: length is nan");
  testing::expect_words(make(0.05, kNaN), "bolt: thread_length is nan");
  testing::expect_words(make(0.05, 0.06), "bolt: thread_length is 0.06, expected at most the length, 0.05");
  EXPECT_EQ(make(0.03, 0.0), "");
}

TEST(MetricThreads, OtherSizesAreThoseOfTheStandard) {
  const struct {
    const char* name;
    double pitch, across_flats, nut, head;  // [mm]
  } sizes[] = {{"M14", 2.0, 21.0, 12.8, 8.8},  {"M18", 2.5, 27.0, 15.8, 11.5}, {"M22", 2.5, 34.0, 19.4, 14.0},
               {"M27", 3.0, 41.0, 23.8, 17.0}, {"M33", 3.5, 50.0, 28.7, 21.0}, {"M39", 4.0, 60.0, 33.4, 25.0},
               {"M56", 5.5, 85.0, 45.0, 35.0}};
  for (const auto& size : sizes) {
    const MetricThread m = find_thread(size.name);
    EXPECT_NEAR(m.diameter, 1e-3 * std::atof(size.name + 1), 1e-12);
    EXPECT_NEAR(m.pitch, 1e-3 * size.pitch, 1e-12);
    EXPECT_NEAR(m.across_flats, 1e-3 * size.across_flats, 1e-12);
    EXPECT_NEAR(m.nut_height, 1e-3 * size.nut, 1e-12);
    EXPECT_NEAR(m.head_height, 1e-3 * size.head, 1e-12);
  }
  const MetricThread own = make_metric_thread(0.015, 0.001), m20 = make_metric_thread(0.02, 0.0015);
  EXPECT_NEAR(own.across_flats, 0.0225, 1e-12);
  EXPECT_NEAR(m20.nut_height, 0.018, 1e-12);
  EXPECT_LT(make_nut(own)->value(Vec3(0.0095, 0.0, 0.0)), 0.0);
  testing::expect_words(testing::error_of([] { static_cast<void>(make_metric_thread(0.015, 0.006)); }),
                        "pitch is 0.006 m");
  testing::expect_words(testing::error_of([] { static_cast<void>(make_metric_thread(-0.015, 0.001)); }),
                        "diameter is -0.015 m");
}

}  // namespace
}  // namespace almond
