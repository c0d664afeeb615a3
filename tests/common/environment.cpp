// Tests and the programs they start leave the user's cache alone; those that are about it set a folder of their own.

#include <cstdlib>

namespace {
const int kCacheIsOff = ::setenv("ALMOND_CACHE_DIR", "off", 1);
}  // namespace
