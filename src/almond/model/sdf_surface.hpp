#pragma once
// Triangles for surfaces: swept contours, flat pieces, clipping by another function, and dual contouring for the rest.

#include "almond/model/sdf.hpp"

namespace almond {

/// A contour is a line of points (r, z) with the solid at its left.
void append(const std::vector<Vec2>& points, std::vector<Vec2>& contour);
/// Goes on from the last point in a straight line, in steps of at most max_edge.
void add_segment(const Vec2& end, const SurfaceOptions& options, std::vector<Vec2>& contour);
[[nodiscard]] std::vector<Vec2> sample_arc(const Vec2& center, double radius, double from, double to,
                                           const SurfaceOptions& options);

/// Sectors of a turn at radius r that keep edges and chords in bounds.
[[nodiscard]] double count_sectors(double r, const SurfaceOptions& options);

/// The contour turned about z.
void add_revolved(const std::vector<Vec2>& contour, const SurfaceOptions& options, TriangleSoup& soup);

/// The contour turned about z by `turns` turns from angle `from` and raised by `lead` per turn.
void add_helical(const std::vector<Vec2>& contour, double lead, double from, double turns,
                 const SurfaceOptions& options, TriangleSoup& soup);

/// center ± u ± v, its normal along u × v.
void add_parallelogram(const Vec3& center, const Vec3& u, const Vec3& v, const SurfaceOptions& options,
                       TriangleSoup& soup);
void add_triangle(const Vec3& a, const Vec3& b, const Vec3& c, const SurfaceOptions& options, TriangleSoup& soup);

/// What becomes of a face of `own` that lies in the surface of `other`: dropped, or kept where both have the solid on
/// the same side, or on opposite sides.
enum class Coincident : std::uint8_t { kDrop, kKeepAlike, kKeepOpposed };

/// Keeps of the triangles from `first` on, which lie on `own`, what has sign * φ(other) > 0. Cuts are moved onto `own`.
void clip_surface(const Sdf& own, const Sdf& other, double sign, Coincident coincident, std::size_t first,
                  TriangleSoup& soup);

constexpr double kMostTriangles = 2e6;
/// Throws Error, before they are made, where `count` triangles are more than a contact search can use.
void check_triangle_count(double count, const SurfaceOptions& options);

/// The zero set in the bounds of the function, by dual contouring on cells of max_edge: edges and corners stay sharp.
void add_contoured(const Sdf& sdf, const SurfaceOptions& options, TriangleSoup& soup);

}  // namespace almond
