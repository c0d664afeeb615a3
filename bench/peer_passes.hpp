#pragma once
// Passes of `almond bench peers`: Almond and the engine that a target names, one after the other several times, since a
// ratio of single passes says as much about what else the machine did as about the two.

#include <string>

#include "bench/peer_almond.hpp"

namespace almond::bench {

/// A number, and the least and the most of it over the passes (NaN: there was one pass).
struct Spread {
  double middle = kNaN, least = kNaN, most = kNaN;

  [[nodiscard]] bool known() const { return least <= most; }
  /// The passes do not agree on whether it is at most `target`.
  [[nodiscard]] bool straddles(double target) const { return least <= target && most > target; }
};

/// "0.82x (0.79 to 0.86)"; "-" where there is no number.
[[nodiscard]] std::string to_text(const Spread& spread);

/// Keeps the figures of a pass that did nothing but step; the times of the run become medians over such passes.
void add_pass(const PeerRun& again, PeerRun& run);

/// A figure of one run by that of another: the ratio of the medians, and the spread of the ratios pass by pass, between
/// which it lies.
[[nodiscard]] Spread ratio_of(const PeerRun& above, const std::string& above_figure, const PeerRun& below,
                              const std::string& below_figure);

}  // namespace almond::bench
