#pragma once
// Convex hulls kept on disk between runs. An entry is named by the content it was made from, so it never goes stale;
// whatever does not read as a hull made here is passed over and written anew.
//
// Where: $ALMOND_CACHE_DIR, else $XDG_CACHE_HOME/almond, else ~/.cache/almond; an empty ALMOND_CACHE_DIR or "off" turns
// it off. At most about 256 MB; the entries used longest ago go first.

#include <optional>
#include <string>

#include "almond/model/shape.hpp"

namespace almond {

/// A hull with what the notes about it say.
struct StoredHull {
  std::shared_ptr<const Polytope> hull;
  std::uint64_t triangles = 0;      // of the mesh
  std::uint64_t full_vertices = 0;  // of its hull before it was simplified
  std::uint64_t open_edges = 0;     // of the mesh, with one triangle
  std::uint64_t crowded_edges = 0;  // with more than two, or two that face opposite ways
  std::uint64_t inside_out = 0;     // 1: closed, and its triangles face inwards
  double moved = 0.0;               // [m] by which simplifying moved the surface
  double thickness = 0.0;           // [m] given to a flat mesh; 0: it was not flat
  double extent = 0.0;              // [m] the longest edge of the box around it
};

/// The folder of the entries; empty: there is none, or it is turned off. Read from the environment at every call.
[[nodiscard]] std::string hull_cache_folder();

/// The name of an entry: `kind` is what the hull was made for, `options` what else decides it.
[[nodiscard]] std::string hull_key(const std::string& kind, const std::string& content,
                                   const std::vector<double>& options);

/// Nothing where there is no entry, or one that is damaged, foreign or no closed convex polytope. Never throws.
[[nodiscard]] std::optional<StoredHull> read_stored_hull(const std::string& key);

/// Nothing happens where it cannot be written. Never throws.
void write_stored_hull(const std::string& key, const StoredHull& entry);

/// Where the entries have more than `most` bytes, those used longest ago go until three quarters of it are left. A
/// process does so before the first entry it writes.
void bound_hull_cache(const std::string& folder, std::uintmax_t most);

}  // namespace almond
