#include "bench/peer_passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/report.hpp"
#include "bench/runs.hpp"

namespace almond::bench {
namespace {

bool is_time(const std::string& figure) {
  for (const char* prefix : {"cpu.", "wall.", "solve_ms.", "step_ms."})
    if (figure.rfind(prefix, 0) == 0) return true;
  return figure == "collide" || figure == "solve";
}

std::string three_digits(double value) {
  std::string text = ratio_cell(value).text;
  text.pop_back();  // the x
  return text;
}

}  // namespace

std::string to_text(const Spread& spread) {
  const std::string middle = ratio_cell(spread.middle).text;
  if (!spread.known()) return middle;
  return middle + " (" + three_digits(spread.least) + " to " + three_digits(spread.most) + ")";
}

void add_pass(const PeerRun& again, PeerRun& run) {
  run.passes.push_back(again.figures);
  for (auto& [figure, value] : run.figures) {
    if (!is_time(figure)) continue;
    std::vector<double> values;
    for (const auto& pass : run.passes)
      if (const auto found = pass.find(figure); found != pass.end()) values.push_back(found->second);
    if (!values.empty()) value = median(values);
  }
}

Spread ratio_of(const PeerRun& above, const std::string& above_figure, const PeerRun& below,
                const std::string& below_figure) {
  Spread spread{above.at(above_figure) / below.at(below_figure)};
  const std::size_t passes = std::min(above.passes.size(), below.passes.size());
  for (std::size_t k = 0; k < passes; ++k) {
    const double ratio = above.passes[k].at(above_figure) / below.passes[k].at(below_figure);
    spread.least = k == 0 ? ratio : std::min(spread.least, ratio);
    spread.most = k == 0 ? ratio : std::max(spread.most, ratio);
  }
  return spread;
}

}  // namespace almond::bench
