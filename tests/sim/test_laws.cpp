// Proves the laws of physics that `almond verify` prints, each against its closed form.

#include <gtest/gtest.h>

#include "common/helpers.hpp"
#include "scenes/laws.hpp"

namespace almond::scenes {
namespace {

class Laws : public ::testing::TestWithParam<Law> {};

TEST_P(Laws, Hold) {
  const std::vector<LawResult> rows = GetParam().run();
  ASSERT_FALSE(rows.empty());
  for (const LawResult& row : rows)
    EXPECT_LE(std::abs(row.measured - row.exact), testing::tolerance(row.tolerance))
        << row.what << ": measured " << row.measured << " " << row.unit << ", exact " << row.exact;
}

INSTANTIATE_TEST_SUITE_P(Each, Laws, ::testing::ValuesIn(all_laws()),
                         [](const auto& each) { return testing::test_name(each.param.name); });

}  // namespace
}  // namespace almond::scenes
