// Ratios of two engines over several passes: against what they are by hand, and the order that the medians must keep.

#include <gtest/gtest.h>

#include <cmath>

#include "bench/page.hpp"
#include "bench/peer_passes.hpp"
#include "bench/process.hpp"
#include "bench/report.hpp"
#include "bench/summary.hpp"

namespace almond::bench {
namespace {

PeerRun timed(double median_ms) { return {"engine", "scene", {}, {}, {{"cpu.median", median_ms}, {"law.e0", 1.0}}}; }

TEST(PeerPasses, OnePassHasNoSpread) {
  const Spread ratio = ratio_of(timed(3.0), "cpu.median", timed(4.0), "cpu.median");
  EXPECT_EQ(ratio.middle, 0.75);
  EXPECT_FALSE(ratio.known());
  EXPECT_FALSE(ratio.straddles(1.0));
  EXPECT_EQ(to_text(ratio), "0.750x");
  EXPECT_EQ(to_text(Spread{}), "-");
}

TEST(PeerPasses, TheRatioIsThatOfMediansAndLiesWithinTheSpread) {
  PeerRun own = timed(5.0), rival = timed(5.0);  // with a referee between the steps: no pass
  add_pass(timed(3.0), own);
  add_pass(timed(4.0), rival);
  add_pass(timed(9.0), own);  // the machine was busy
  add_pass(timed(8.0), rival);
  add_pass(timed(3.2), own);
  add_pass(timed(4.0), rival);
  EXPECT_EQ(own.at("cpu.median"), 3.2);
  EXPECT_EQ(own.at("law.e0"), 1.0);
  const Spread ratio = ratio_of(own, "cpu.median", rival, "cpu.median");
  EXPECT_DOUBLE_EQ(ratio.middle, 0.8);
  EXPECT_DOUBLE_EQ(ratio.least, 0.75);
  EXPECT_DOUBLE_EQ(ratio.most, 1.125);
  EXPECT_EQ(to_text(ratio), "0.800x (0.750 to 1.12)");
  EXPECT_TRUE(ratio.straddles(1.0));
  EXPECT_FALSE(ratio.straddles(0.7));
  EXPECT_FALSE(ratio.straddles(1.2));
}

TEST(PeerPasses, AClaimAtItsTargetIsNeitherHeldNorMissed) {
  Report report;
  report.add_claim("fast", "at most 1.0x", "0.99x (0.97 to 1.02)", true);
  report.claims.back().near = true;
  report.add_claim("exact", "1e-8", "1e-9", true);
  report.add_claim("small", "1 MB", "2 MB", false);
  EXPECT_EQ(report.num_claims(), 3);
  EXPECT_EQ(report.num_held(), 1);
  EXPECT_EQ(report.num_near(), 1);
  EXPECT_EQ(report.score(), "1 of 3 targets hold, 1 is undecided within the spread");
  EXPECT_NE(to_text(report.claims, false).find("undecided: the target lies within the spread"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"verdict\": \"undecided\""), std::string::npos);
  EXPECT_NE(to_html(report).find("<div class=\"claim near\">"), std::string::npos);
}

TEST(PeerPasses, WhatWasInterruptedSaysSoFirst) {
  Report report;
  report.interrupted = true;
  EXPECT_EQ(report.score(), "interrupted: no target was measured");
  report.add_claim("exact", "1e-8", "1e-9", true);
  report.parts.resize(3);
  report.parts[1].left_out = report.parts[2].left_out = true;
  EXPECT_EQ(report.score(), "interrupted: 1 of the 1 targets that were measured hold; parts run in full: 1 of 3");
}

Run solved_at(const char* solver, double ms, const char* failure = "") {
  Run run;
  run.problem = "p";
  run.solver = solver;
  run.peer = run.solver != "almond";
  run.to_natural[2] = ms;
  run.failure = failure;
  return run;
}

PeerRatio ratio_to(const std::vector<Run>& peers) {
  std::vector<Run> runs = {solved_at("almond", 2.0)};
  runs.insert(runs.end(), peers.begin(), peers.end());
  return peer_ratios(runs, "almond", "", 100.0).at(0);
}

TEST(PeerRatios, OnlyWhoHadItsTimeIsBeaten) {
  EXPECT_EQ(ratio_to({solved_at("a", 6.0)}).ratio, 3.0);
  EXPECT_EQ(ratio_to({solved_at("a", kNever)}).ratio, 50.0);  // at least
  EXPECT_EQ(ratio_to({solved_at("a", kNever, kHung)}).ratio, 50.0);
  for (const char* failure : {kInterruptedText, kTooLarge, "crashed with signal 11", "failed: no such luck"}) {
    const PeerRatio none = ratio_to({solved_at("a", kNever, failure)});
    EXPECT_TRUE(std::isnan(none.ratio)) << failure;
    EXPECT_EQ(none.unknown, std::string("a: ") + failure);
    const std::string table = to_text(ratio_table({none}, "almond", "peers"), false);
    EXPECT_EQ(table.find("none solves it"), std::string::npos);
    EXPECT_NE(table.find(failure), std::string::npos);
  }
}

TEST(PeerRatios, ACrashLeavesTheOthersAnInterruptDoesNot) {
  const PeerRatio crash = ratio_to({solved_at("a", 6.0), solved_at("b", kNever, "crashed with signal 11")});
  EXPECT_EQ(crash.ratio, 3.0);
  EXPECT_EQ(crash.failed, "b: crashed with signal 11");
  // The one that was cut off might have been the fastest, and what it had reached might have come sooner.
  EXPECT_TRUE(std::isnan(ratio_to({solved_at("a", 6.0), solved_at("b", kNever, kInterruptedText)}).ratio));
  EXPECT_TRUE(std::isnan(ratio_to({solved_at("b", 8.0, kInterruptedText)}).ratio));
}

TEST(PeerTables, CaptionsAreWrappedAndRowsOfASceneBelongTogether) {
  std::string caption;
  for (int k = 0; k < 60; ++k) caption += "word ";
  Table table{"t", "Title", caption, {"scene", "engine"}, {}, 2};
  for (const char* scene : {"a", "a", "b"}) table.rows.push_back({text_cell(scene), text_cell("x")});
  const std::string text = to_text(table, false);
  EXPECT_EQ(text.rfind("Title\nword word", 0), 0U);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 110U);
  Report report;
  report.tables.push_back(table);
  const std::string html = to_html(report);
  EXPECT_EQ(html.find("<tr class=\"next\">"), html.rfind("<tr class=\"next\">"));
  EXPECT_NE(html.find("<td class=\" key last\">x</td>"), std::string::npos);
}

}  // namespace
}  // namespace almond::bench
