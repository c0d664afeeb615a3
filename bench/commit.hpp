#pragma once
// What this program was built from.

#include <string>

namespace almond::bench {

/// The commit, short, with a + where tracked files differed from it; empty when built outside a clone or without git.
[[nodiscard]] std::string built_from();

}  // namespace almond::bench
