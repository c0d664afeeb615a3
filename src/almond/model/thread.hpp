#pragma once
// ISO metric screw threads (ISO 68-1, 261, 965): a 60° profile that turns and rises about z.
//
//   H = √3/2 P,  d2 = d - 3/4 H,  D1 = d - 5/4 H,  d3 = d - 17/12 H        (P pitch, d nominal diameter)
//   h = P / 2π: the rise per radian; lead angle at radius r: tan λ = h / r

#include "almond/model/sdf.hpp"

namespace almond {

/// A right-handed thread without ends: at the height z and angle θ the solid reaches to r = profile(z - hθ), a crest at
/// z = 0, θ = 0.
struct ThreadProfile {
  double pitch = 0.0;                            // [m]
  double crest_radius = 0.0, root_radius = 0.0;  // [m]
  double crest_width = 0.0, root_width = 0.0;    // flats, along z [m]

  [[nodiscard]] double rise() const;  // h [m/rad]
};

/// `low` to `high`: where triangles are made; the solid itself has no ends. Throws Error for a profile that is none.
[[nodiscard]] SdfPtr make_thread(const ThreadProfile& profile, double low, double high);

/// Size and fit of a metric thread.
struct MetricThread {
  double diameter = 0.0, pitch = 0.0;  // nominal [m]
  double across_flats = 0.0;           // of nut and head [m]
  double nut_height = 0.0, head_height = 0.0;
  char fit = 'g';  // position of the bolt's tolerance: e, f, g, h; the nut is H

  /// By how much the bolt's diameters are smaller than nominal (ISO 965-1) [m].
  [[nodiscard]] double allowance() const;
  [[nodiscard]] double pitch_diameter() const;
  [[nodiscard]] ThreadProfile external() const;
  [[nodiscard]] ThreadProfile internal() const;  // of the hole
};

/// "M48", "M48x5", "M20", "M20x2.5", "M12", "M8", "M6", ... with the nuts of ISO 4032; "M20x1.5" and other pitches.
/// Throws Error with the sizes known.
[[nodiscard]] MetricThread find_thread(const std::string& name);

/// A thread of any diameter and pitch [m]. Nut and head are those of the standard where it knows the diameter, else
/// 1.5 diameters across flats, 0.85 and 0.625 high. Throws Error for a pitch above 0.3 diameters.
[[nodiscard]] MetricThread make_metric_thread(double diameter, double pitch);

/// A bolt along z: thread from z = 0, where it is chamfered, down to -thread_length, then a plain shank down to
/// -length, then the hexagonal head (ISO 4014).
struct BoltOptions {
  double length = 0.0, thread_length = 0.0;  // [m]; 0: 2.5 and 2 diameters (no more than the length)
  bool head = true;
};
/// Throws Error for lengths that are negative, not numbers, or too short, and a thread longer than the bolt.
[[nodiscard]] SdfPtr make_bolt(const MetricThread& thread, const BoltOptions& options = {});

/// A hexagonal nut about the origin, its hole along z, countersunk at both ends.
[[nodiscard]] SdfPtr make_nut(const MetricThread& thread);

/// The angle by which a nut at height z has to be turned about z for its thread to sit in the middle of the bolt's.
[[nodiscard]] double engaged_angle(const MetricThread& thread, double z);

}  // namespace almond
