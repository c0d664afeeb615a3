#pragma once
// Runs of several engines on one scene as a page to play, side by side, from the poses that the referee saw.

#include <string>

#include "bench/peer_bench.hpp"

namespace almond::bench {

/// Throws Error where no such pages can be made, before anything is run for them.
void check_replays(const std::string& folder);

/// Writes FOLDER/SCENE.html for every scene of the part with at most six engines: Almond, the rival, then others, and
/// links them in the report. `page`: where the report will be, which the links start from; may be empty.
void write_replays(const PeerPart& part, const PeerRuns& runs, const std::map<std::string, PeerScene>& scenes,
                   const std::string& folder, const std::string& page, Report& report);

}  // namespace almond::bench
