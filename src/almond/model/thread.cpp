#include "almond/model/thread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/sdf_surface.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kTan30 = 0.57735026918962576451;
constexpr double kSharp = 0.86602540378443864676;  // H / P

/// atan2 without branches, to 1e-16: both arguments are folded into 0 <= y <= x, then into |u| <= tan 22.5°.
inline double fast_atan2(double y, double x) {
  const double ax = std::abs(x), ay = std::abs(y);
  const double top = std::min(ax, ay), bottom = std::max(std::max(ax, ay), 1e-300);
  const bool steep = top > 0.41421356237309503 * bottom;
  const double u = steep ? (top - bottom) / (top + bottom) : top / bottom, t = u * u;
  double p = -0.020899624121626905;
  for (const double c : {0.0382106957095035, -0.044672796570916051, 0.048204154269383147, -0.052761555844136297,
                         0.058841155384825976, -0.066668237807285563, 0.076923170699330926, -0.09090909461927911,
                         0.11111111120510912, -0.14285714285857357, 0.20000000000001175, -0.33333333333333337, 1.0})
    p = p * t + c;
  double angle = u * p + (steep ? 0.25 * kPi : 0.0);
  angle = ay > ax ? 0.5 * kPi - angle : angle;
  angle = x < 0.0 ? kPi - angle : angle;
  return std::copysign(angle, y);
}

/// The nearest point of a helical surface to a point at (r, θ, z). With s = z - hθ, a point (ρ, σ) of the profile is,
/// at the best angle φ = h (s - σ) / (rρ + h²) to the side,
///   D² = (r - ρ)² + k (s - σ)²,  k = rρ / (rρ + h²)
/// away, up to terms of fourth order in φ, which is a hundredth. So the nearest point is found in the plane with s
/// scaled by √k, on the half period 0 <= s <= P/2, beyond which the profile is mirrored; the distance is then measured
/// in space.
struct ThreadSdf final : PointwiseSdf<ThreadSdf> {
  ThreadProfile profile;
  double h = 0.0, low = 0.0, high = 0.0;
  double crest_r = 0.0, root_r = 0.0, crest_s = 0.0, root_s = 0.0, half_pitch = 0.0, inverse_pitch = 0.0, pitch = 0.0;

  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    const double r = std::max(std::sqrt(x * x + y * y), 1e-9), s_all = z - h * fast_atan2(y, x);
    const double s_signed = s_all - pitch * std::nearbyint(s_all * inverse_pitch), s = std::abs(s_signed);
    const double near_r = std::min(std::max(r, root_r), crest_r);
    const double k = r * near_r / (r * near_r + h * h), root_k = std::sqrt(k), w = root_k * s;

    // Crest (crest_r, 0..crest_s), flank to (root_r, root_s), root (root_r, root_s..P/2), in (r, w).
    const double cs = root_k * crest_s, rs = root_k * root_s, fr = root_r - crest_r, fw = rs - cs;
    const double inverse = 1.0 / (fr * fr + fw * fw);
    const double w1 = std::min(w, cs), d1 = (r - crest_r) * (r - crest_r) + (w - w1) * (w - w1);
    const double t = std::min(std::max(((r - crest_r) * fr + (w - cs) * fw) * inverse, 0.0), 1.0);
    const double r2 = crest_r + t * fr, w2 = cs + t * fw, d2 = (r - r2) * (r - r2) + (w - w2) * (w - w2);
    const double w3 = std::max(w, rs), d3 = (r - root_r) * (r - root_r) + (w - w3) * (w - w3);
    const bool flank = d2 < d1 && d2 <= d3, root = d3 < d1 && d3 < d2;
    const double rho = flank ? r2 : (root ? root_r : crest_r), sigma = (flank ? w2 : (root ? w3 : w1)) / root_k;
    // Outward normal of the profile, and the side on which the point lies: right of the piece.
    const double fn = 1.0 / std::sqrt(fr * fr + (root_s - crest_s) * (root_s - crest_s));
    const double nr = flank ? (root_s - crest_s) * fn : 1.0, ns = flank ? -fr * fn : 0.0;
    const double profile_r =
        s <= crest_s ? crest_r : (s >= root_s ? root_r : crest_r + (s - crest_s) * fr / (root_s - crest_s));
    const double side = r > profile_r ? 1.0 : -1.0;

    // In space, in the axes of r, θ, z at the point.
    const double offset = s_signed < 0.0 ? -(s - sigma) : (s - sigma);
    const double phi = h * offset / (r * rho + h * h), phi2 = phi * phi;
    const double cosine = 1.0 - phi2 * (0.5 - phi2 / 24.0), sine = phi * (1.0 - phi2 / 6.0);
    const double vr = r - rho * cosine, vt = -rho * sine, vz = offset - h * phi;
    const double length = std::sqrt(vr * vr + vt * vt + vz * vz);
    const bool off = length > 1e-9;
    const double nz = s_signed < 0.0 ? -ns : ns, nt = -h / rho * nz;
    const double nn = 1.0 / std::sqrt(nr * nr + nt * nt + nz * nz), scale = side / std::max(length, 1e-300);
    const double gr = off ? vr * scale : nr * nn, gt = off ? vt * scale : nt * nn;
    d = side * length;
    const double inverse_r = 1.0 / r;
    gx = (gr * x - gt * y) * inverse_r;
    gy = (gr * y + gt * x) * inverse_r;
    gz = off ? vz * scale : nz * nn;
  }

  [[nodiscard]] Aabb bounds() const override { return {Vec3(-crest_r, -crest_r, low), Vec3(crest_r, crest_r, high)}; }
  /// Away from the surface by less than a pitch. Near the axis the distance is not that of the nearest point any more.
  [[nodiscard]] double slack() const override { return 2e-4; }
  [[nodiscard]] bool exact() const override { return false; }
  [[nodiscard]] std::string name() const override { return "thread"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    // One period, from the middle of a root to the next: strips of their own where the profile has an edge.
    const Vec2 corner[6] = {{root_r, -half_pitch}, {root_r, -root_s}, {crest_r, -crest_s},
                            {crest_r, crest_s},    {root_r, root_s},  {root_r, half_pitch}};
    std::vector<Vec2> contour{corner[0]};
    for (int k = 1; k < 6; ++k) add_segment(corner[k], options, contour);
    const double first = std::floor(low / pitch) - 1.0, turns = (high - low) / pitch + 3.0;
    const std::size_t begin = soup.triangles.size();
    const double sectors = count_sectors(crest_r, options);
    const double count = 2.0 * turns * sectors * (static_cast<double>(contour.size()) - 1.0);
    require(count <= kMostTriangles, "thread: " + to_text(turns) + " turns of a pitch of " + to_text(pitch) + " m in " +
                                         to_text(sectors) + " sectors make " + to_text(count) +
                                         " triangles, expected at most " + to_text(kMostTriangles) +
                                         ": a larger pitch, a shorter thread, or a larger surface.max_edge");
    add_helical(contour, pitch, 2.0 * kPi * first, turns, options, soup);
    const auto middle = make_cylinder_sdf(2.0 * crest_r, 0.5 * (high - low));
    const auto range = make_posed(middle, make_translation(0.0, 0.0, 0.5 * (low + high)));
    clip_surface(*this, *range, -1.0, Coincident::kDrop, begin, soup);
  }
};

/// What a bolt is cut from: above `bottom`, below z = 0, within a cone of 45° that leaves the radius `tip` at z = 0.
/// Exact above; a bolt ends elsewhere before `bottom` matters.
struct BlankSdf final : PointwiseSdf<BlankSdf> {
  double tip = 0.0, bottom = 0.0;
  SdfPtr solid;  // the same as far out as a bolt goes, for its triangles

  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    constexpr double kHalf = 0.70710678118654752440;
    const double r = std::max(std::sqrt(x * x + y * y), 1e-12), out = r - tip;
    const double cone = kHalf * (out + z), edge = std::sqrt(out * out + z * z);
    const double flat = std::max(z, bottom - z), inverse = 1.0 / std::max(edge, 1e-12);
    const bool beyond = std::min(out, z - out) > 0.0, slanted = cone > flat;
    d = beyond ? edge : std::max(cone, flat);
    const double gr = beyond ? out * inverse : (slanted ? kHalf : 0.0);
    gz = beyond ? z * inverse : (slanted ? kHalf : (z > bottom - z ? 1.0 : -1.0));
    gx = gr * x / r;
    gy = gr * y / r;
  }
  [[nodiscard]] Aabb bounds() const override { return solid->bounds(); }
  [[nodiscard]] bool exact() const override { return false; }
  [[nodiscard]] std::string name() const override { return "blank"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    solid->add_surface(options, soup);
  }
};

struct Size {
  const char* name;
  double pitch, across_flats, nut_height, head_height;  // [mm]
};
// Coarse pitches of ISO 261, nuts of ISO 4032, heads of ISO 4014.
constexpr Size kSizes[] = {
    {"M3", 0.5, 5.5, 2.4, 2.0},     {"M4", 0.7, 7.0, 3.2, 2.8},     {"M5", 0.8, 8.0, 4.7, 3.5},
    {"M6", 1.0, 10.0, 5.2, 4.0},    {"M8", 1.25, 13.0, 6.8, 5.3},   {"M10", 1.5, 16.0, 8.4, 6.4},
    {"M12", 1.75, 18.0, 10.8, 7.5}, {"M14", 2.0, 21.0, 12.8, 8.8},  {"M16", 2.0, 24.0, 14.8, 10.0},
    {"M18", 2.5, 27.0, 15.8, 11.5}, {"M20", 2.5, 30.0, 18.0, 12.5}, {"M22", 2.5, 34.0, 19.4, 14.0},
    {"M24", 3.0, 36.0, 21.5, 15.0}, {"M27", 3.0, 41.0, 23.8, 17.0}, {"M30", 3.5, 46.0, 25.6, 18.7},
    {"M33", 3.5, 50.0, 28.7, 21.0}, {"M36", 4.0, 55.0, 31.0, 22.5}, {"M39", 4.0, 60.0, 33.4, 25.0},
    {"M42", 4.5, 65.0, 34.0, 26.0}, {"M45", 4.5, 70.0, 36.0, 28.0}, {"M48", 5.0, 75.0, 38.0, 30.0},
    {"M52", 5.0, 80.0, 42.0, 33.0}, {"M56", 5.5, 85.0, 45.0, 35.0}, {"M60", 5.5, 90.0, 48.0, 38.0},
    {"M64", 6.0, 95.0, 51.0, 40.0}};

/// [m]
double diameter_of(const Size& size) { return 1e-3 * std::atof(size.name + 1); }

}  // namespace

double ThreadProfile::rise() const { return pitch / (2.0 * kPi); }

SdfPtr make_thread(const ThreadProfile& profile, double low, double high) {
  const auto check = [](bool ok, const char* what, double value, const std::string& expected) {
    require(ok, std::string("thread: ") + what + " is " + to_text(value) + ", expected " + expected);
  };
  const ThreadProfile& p = profile;
  check(std::isfinite(p.pitch) && p.pitch > 0.0, "pitch", p.pitch, "finite and > 0");
  check(std::isfinite(p.crest_radius) && p.crest_radius > 0.0, "crest radius", p.crest_radius, "finite and > 0");
  check(p.root_radius > 2.0 * p.rise() && p.root_radius < p.crest_radius, "root radius", p.root_radius,
        "above " + to_text(2.0 * p.rise()) + " (pitch / pi) and below the crest radius " + to_text(p.crest_radius));
  check(p.crest_width > 0.0 && p.root_width > 0.0 && p.crest_width + p.root_width < p.pitch, "crest and root width",
        p.crest_width + p.root_width, "both > 0, together below the pitch " + to_text(p.pitch));
  check(std::isfinite(low) && std::isfinite(high) && low < high, "length", high - low, "> 0");
  auto sdf = std::make_shared<ThreadSdf>();
  sdf->profile = profile;
  sdf->h = profile.rise();
  sdf->low = low;
  sdf->high = high;
  sdf->pitch = p.pitch;
  sdf->inverse_pitch = 1.0 / p.pitch;
  sdf->half_pitch = 0.5 * p.pitch;
  sdf->crest_r = p.crest_radius;
  sdf->root_r = p.root_radius;
  sdf->crest_s = 0.5 * p.crest_width;
  sdf->root_s = 0.5 * (p.pitch - p.root_width);
  return sdf;
}

double MetricThread::allowance() const {
  // ISO 965-1, fundamental deviations in µm, P in mm.
  const double p = 1e3 * pitch;
  switch (fit) {
    case 'e':
      return 1e-6 * (50.0 + 11.0 * p);
    case 'f':
      return 1e-6 * (30.0 + 11.0 * p);
    case 'g':
      return 1e-6 * (15.0 + 11.0 * p);
    case 'h':
      return 0.0;
    default:
      throw Error(std::string("thread: fit '") + fit + "', expected e, f, g or h");
  }
}

double MetricThread::pitch_diameter() const { return diameter - 0.75 * kSharp * pitch; }

namespace {

/// Crest and root at the given radii, on flanks as thick as the gaps between them at the pitch radius.
ThreadProfile make_profile(double pitch, double pitch_radius, double crest_radius, double root_radius) {
  ThreadProfile p;
  p.pitch = pitch;
  p.crest_radius = crest_radius;
  p.root_radius = root_radius;
  p.crest_width = 0.5 * pitch - 2.0 * kTan30 * (crest_radius - pitch_radius);
  p.root_width = 0.5 * pitch - 2.0 * kTan30 * (pitch_radius - root_radius);
  return p;
}

}  // namespace

ThreadProfile MetricThread::external() const {
  const double a = 0.5 * allowance(), H = kSharp * pitch;
  return make_profile(pitch, 0.5 * pitch_diameter() - a, 0.5 * diameter - a, 0.5 * diameter - 17.0 / 24.0 * H - a);
}

ThreadProfile MetricThread::internal() const {
  // The hole is cleared beyond the nominal diameter by H/24, half of what the sharp V would leave.
  const double H = kSharp * pitch;
  return make_profile(pitch, 0.5 * pitch_diameter(), 0.5 * diameter + H / 24.0, 0.5 * diameter - 0.625 * H);
}

MetricThread make_metric_thread(double diameter, double pitch) {
  require(std::isfinite(diameter) && diameter > 0.0,
          "thread: diameter is " + to_text(diameter) + " m, expected finite and > 0");
  require(pitch > 0.0 && pitch <= 0.3 * diameter, "thread: pitch is " + to_text(pitch) +
                                                      " m, expected more than 0 and at most " +
                                                      to_text(0.3 * diameter) + " (0.3 diameters)");
  MetricThread thread;
  thread.diameter = diameter;
  thread.pitch = pitch;
  thread.across_flats = 1.5 * diameter;
  thread.nut_height = 0.85 * diameter;
  thread.head_height = 0.625 * diameter;
  for (const Size& s : kSizes) {
    if (std::abs(diameter_of(s) - diameter) > 1e-9) continue;
    thread.across_flats = 1e-3 * s.across_flats;
    thread.nut_height = 1e-3 * s.nut_height;
    thread.head_height = 1e-3 * s.head_height;
  }
  return thread;
}

MetricThread find_thread(const std::string& name) {
  const std::size_t times = name.find('x');
  const std::string size = name.substr(0, times);
  std::string known;
  for (const Size& s : kSizes) {
    known += std::string(known.empty() ? "" : ", ") + s.name;
    if (size != s.name) continue;
    if (times == std::string::npos) return make_metric_thread(diameter_of(s), 1e-3 * s.pitch);
    const std::string text = name.substr(times + 1);
    char* end = nullptr;
    const double pitch = 1e-3 * std::strtod(text.c_str(), &end), most = 0.3 * diameter_of(s);
    require(end == text.c_str() + text.size() && !text.empty() && pitch > 0.0 && pitch <= most,
            "thread " + quote(name) + ": pitch is " + quote(text) + ", expected millimetres > 0, at most " +
                to_text(1e3 * most));
    return make_metric_thread(diameter_of(s), pitch);
  }
  throw Error("thread " + quote(name) + " is not known, expected one of " + known + ", or with a pitch like M20x1.5");
}

SdfPtr make_bolt(const MetricThread& thread, const BoltOptions& options) {
  const ThreadProfile profile = thread.external();
  for (const auto& [what, value] : {std::pair{"length", options.length}, {"thread_length", options.thread_length}})
    require(std::isfinite(value) && value >= 0.0,
            std::string("bolt: ") + what + " is " + to_text(value) + ", expected finite and > 0, or 0 for the usual");
  const double d = thread.diameter, length = options.length > 0.0 ? options.length : 2.5 * d;
  require(length > 2.0 * thread.pitch,
          "bolt: length is " + to_text(length) + ", expected more than two pitches, " + to_text(2.0 * thread.pitch));
  require(options.thread_length <= length * (1.0 + 1e-9), "bolt: thread_length is " + to_text(options.thread_length) +
                                                              ", expected at most the length, " + to_text(length));
  const double threaded = std::min(options.thread_length > 0.0 ? options.thread_length : 2.0 * d, length);
  const double overlap = 0.5 * thread.pitch, r = profile.crest_radius, root = profile.root_radius;
  // Cut at the upper end, at 45° down to below the root; below, the thread goes on into the shank.
  const double chamfer = r - root + 0.1 * thread.pitch, bottom = -threaded - overlap;
  const auto blank = std::make_shared<BlankSdf>();
  blank->tip = r - chamfer;
  blank->bottom = bottom;
  blank->solid = make_revolved_solid(
      {{0.0, bottom}, {1.5 * r, bottom}, {1.5 * r, -chamfer - 0.5 * r}, {r - chamfer, 0.0}, {0.0, 0.0}});
  std::vector<SdfPtr> parts{make_intersection({make_thread(profile, bottom - overlap, overlap), blank})};
  const double shank_low = -length - (options.head ? 0.5 * thread.head_height : 0.0);
  if (length > threaded) {
    const double high = -threaded, half = 0.5 * (high - shank_low);
    parts.push_back(make_posed(make_cylinder_sdf(r, half), make_translation(0.0, 0.0, high - half)));
  }
  if (options.head)
    parts.push_back(make_posed(make_hexagon_sdf(thread.across_flats, 0.5 * thread.head_height),
                               make_translation(0.0, 0.0, -length - 0.5 * thread.head_height)));
  return parts.size() == 1 ? parts[0] : make_union(std::move(parts));
}

SdfPtr make_nut(const MetricThread& thread) {
  const ThreadProfile hole = thread.internal();
  const double half = 0.5 * thread.nut_height, r = 1.05 * hole.crest_radius;
  const SdfPtr body = make_hexagon_sdf(thread.across_flats, half);
  // Countersunk at 60° to the axis, as wide as the thread at the faces.
  const double depth = (r - hole.root_radius + 0.1 * thread.pitch) * kTan30;
  const double in = hole.root_radius - 0.1 * thread.pitch, out = r + (r - in);
  return make_difference(
      body,
      make_union(
          {make_thread(hole, -half - thread.pitch, half + thread.pitch),
           make_revolved_solid({{0.0, -half - depth}, {out, -half - depth}, {in, -half + depth}, {0.0, -half + depth}}),
           make_revolved_solid({{0.0, half - depth}, {in, half - depth}, {out, half + depth}, {0.0, half + depth}})}));
}

double engaged_angle(const MetricThread& thread, double z) {
  return std::fmod(2.0 * kPi * z / thread.pitch, 2.0 * kPi);
}

}  // namespace almond
