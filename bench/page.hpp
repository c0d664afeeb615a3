#pragma once
// A Report as one HTML file: no network, no other file. Claims on top, then tables that sort by a click on a heading,
// then figures whose curves can be read under the pointer.

#include <string>

#include "bench/report.hpp"

namespace almond::bench {

[[nodiscard]] std::string to_html(const Report& report);

}  // namespace almond::bench
