#pragma once
// The web page that shows replays, and follows a running simulation when it is served. Replays travel inside it.

#include <string>
#include <vector>

namespace almond {

/// Whether the page was built into this program (viewer/ needs npm).
[[nodiscard]] bool have_page();

/// The page alone, as it is served for a live view. Throws Error without one, with how to get it.
[[nodiscard]] std::string page_alone();

/// The page with replays (gzip'ed, as Replay::finish() makes them) side by side: one HTML file that needs nothing else.
/// Throws Error without a page.
[[nodiscard]] std::string make_page(const std::vector<std::string>& replays);

/// The replays inside such a file. Throws Error naming `label` when there are none or one is damaged.
[[nodiscard]] std::vector<std::string> replays_of_page(const std::string& html, const std::string& label);

}  // namespace almond
