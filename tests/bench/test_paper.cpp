#include <gtest/gtest.h>

#include "almond/load/problem_file.hpp"
#include "bench/page.hpp"
#include "bench/paper.hpp"

namespace almond::bench {
namespace {

/// Whether two problems are the same to the last bit.
void expect_same(const ContactProblem& a, const ContactProblem& b) {
  ASSERT_EQ(a.num_contacts(), b.num_contacts());
  ASSERT_EQ(a.num_dofs(), b.num_dofs());
  EXPECT_EQ(make_dense_J(a), make_dense_J(b));
  for (int i = 0; i < a.num_contacts(); ++i) {
    EXPECT_EQ(a.contacts[i].e, b.contacts[i].e);
    EXPECT_EQ(a.contacts[i].mu, b.contacts[i].mu);
  }
}

TEST(PaperCases, NutsComeFromFixedSeedsAndHaveManyContacts) {
  const std::vector<BenchProblem> one = make_nut_cases(false, 2, 2, {}), other = make_nut_cases(false, 2, 2, {});
  ASSERT_EQ(one.size(), 4U);
  for (std::size_t k = 0; k < one.size(); ++k) {
    EXPECT_EQ(one[k].name, other[k].name);
    EXPECT_GE(one[k].problem.num_contacts(), 100);
    EXPECT_LE(one[k].problem.num_contacts(), 120);
    EXPECT_EQ(one[k].problem.num_dofs(), 6);
    expect_same(one[k].problem, other[k].problem);
  }
}

TEST(PaperCases, RougherWrenchesOnTheSameDishes) {
  const std::vector<BenchProblem> gentle = make_dish_cases(2, kGentle, {}), rough = make_dish_cases(2, kRough, {});
  ASSERT_EQ(gentle.size(), 2U);
  EXPECT_EQ(gentle[0].problem.num_dofs(), 24);
  EXPECT_GE(gentle[0].problem.num_contacts(), 300);
  EXPECT_EQ(make_dense_J(gentle[0].problem), make_dense_J(rough[0].problem));  // the same pile
  EXPECT_NE(gentle[0].name, rough[0].name);
  EXPECT_NE(gentle[0].name, gentle[1].name);
}

TEST(PaperTools, ExponentOfAPowerLaw) {
  std::vector<Point> points;
  for (const double x : {10.0, 30.0, 100.0, 1000.0}) points.push_back({x, 0.3 * std::pow(x, 1.7)});
  EXPECT_NEAR(fit_exponent(points), 1.7, 1e-12);
}

TEST(PaperTools, AboutIsTwoSided) {
  EXPECT_TRUE(is_about(10.0, 10.0, 1.5));
  EXPECT_TRUE(is_about(6.7, 10.0, 1.5));
  EXPECT_FALSE(is_about(6.6, 10.0, 1.5));
  EXPECT_FALSE(is_about(15.1, 10.0, 1.5));
  EXPECT_FALSE(is_about(kNaN, 10.0, 1.5));
}

TEST(PaperTools, LateByEarly) {
  EXPECT_DOUBLE_EQ(late_by_early({1.0, 2.0, 3.0, 4.0}), 1.0);
  EXPECT_DOUBLE_EQ(late_by_early({0.0, 4.0, 6.0, 7.0}), 0.25);
  EXPECT_TRUE(std::isnan(late_by_early({0.0, 1.0, 2.0})));
}

TEST(PaperTools, Quantiles) {
  EXPECT_EQ(quantile({3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(quantile({3.0, 1.0, 2.0}, 0.0), 1.0);
  EXPECT_EQ(quantile({3.0, 1.0, 2.0}, 1.0), 3.0);
  EXPECT_DOUBLE_EQ(quantile({0.0, 1.0}, 0.25), 0.25);
  EXPECT_EQ(quantile({1.0, kInfinity, kInfinity}, 0.9), kInfinity);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
  EXPECT_DOUBLE_EQ(mean({1.0, 2.0, 6.0}), 3.0);
}

TEST(PaperReport, PartsCountAndStandOnThePage) {
  Report part;
  part.name = "some_part";
  part.title = "A <part>";
  part.add_claim("it works", "yes", "yes", true, "", "no cause where a claim holds");
  part.add_claim("it is fast", "1 ms", "2e-3 s", false, "1e-3 s or less", "it is <slow>");
  part.tables.push_back({"numbers", "Numbers", "", {"n"}, {{count_cell(4.0)}}});
  part.pictures.push_back({"what it looks like", "PNG"});
  Report report;
  report.name = "paper";
  report.parts = {part, part};
  EXPECT_EQ(report.num_claims(), 4);
  EXPECT_EQ(report.num_held(), 2);
  EXPECT_EQ(report.num_left_out(), 0);
  report.parts[1].left_out = true;
  EXPECT_EQ(report.num_left_out(), 1);
  const std::string html = to_html(report);
  EXPECT_NE(html.find("<section id=\"some_part\">"), std::string::npos);
  EXPECT_NE(html.find("A &lt;part&gt;"), std::string::npos);
  EXPECT_NE(html.find("data:image/png;base64,UE5H"), std::string::npos);
  EXPECT_NE(html.find("2 of 4 targets hold"), std::string::npos);
  EXPECT_NE(html.find("holds if 1e\u20113 s or less"), std::string::npos);
  EXPECT_NE(html.find("why not: it is &lt;slow&gt;"), std::string::npos);
  EXPECT_EQ(html.find("no cause where a claim holds"), std::string::npos);
  const std::string json = to_json(report);
  EXPECT_NE(json.find("\"cause\": \"it is <slow>\""), std::string::npos);
  EXPECT_NE(json.find("\"criterion\": \"1e-3 s or less\""), std::string::npos);
  EXPECT_NE(json.find("\"part\": \"some_part\""), std::string::npos);
  EXPECT_NE(json.find("\"numbers\""), std::string::npos);
}

}  // namespace
}  // namespace almond::bench
