#include "almond/model/neural_sdf.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/neural_network.hpp"
#include "almond/model/sdf_surface.hpp"

namespace almond {
namespace {

/// A point as the rod sees it: s is the height above the nearest crest, at the point's angle.
struct Screw {
  double r, s, z;
};

struct NeuralSdf final : Sdf {
  NeuralWeights w;
  Network network;
  double low = 0.0;
  SdfPtr outline;

  using Sdf::sample;
  void sample(SdfBlock& b) const override;

  [[nodiscard]] Aabb bounds() const override {
    const double r = w.outer_radius;
    return {Vec3(-r, -r, low), Vec3(r, r, 0.0)};
  }
  [[nodiscard]] bool exact() const override { return false; }
  [[nodiscard]] double slack() const override { return w.slack; }
  [[nodiscard]] std::string name() const override { return "neural"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override;

 private:
  [[nodiscard]] NetworkInput see(const Screw& q) const;
  [[nodiscard]] SdfSample interpret(const Screw& q, const NetworkOutput& out) const;
  void finish(const Vec3& p, double r, const SdfSample& learnt, SdfSample& out) const;
};

// What the network sees of |s|: from -1 in the middle of a crest to 1 in the middle of a root. Faded in with r, since
// there is no angle at the axis.
struct Fade {
  double value, slope;
};
Fade fade_at(const NeuralWeights& w, double r) {
  const double width = w.fade_to - w.fade_from, t = std::clamp((r - w.fade_from) / width, 0.0, 1.0);
  return {t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t) / width};
}
double crest_at(const NeuralWeights& w, double s) { return 4.0 / w.pitch * std::abs(s) - 1.0; }

NetworkInput NeuralSdf::see(const Screw& q) const {
  const auto through = [&](const NeuralWindow& window) {
    return static_cast<float>((std::clamp(q.z, window.low, window.high) - 0.5 * (window.low + window.high)) /
                              window.scale);
  };
  const double fade = fade_at(w, q.r).value, c = crest_at(w, q.s);
  return {{static_cast<float>((q.r - w.r_middle) / w.r_scale), static_cast<float>(fade * c),
           static_cast<float>(fade * c * c), through(w.end), through(w.runout)}};
}

/// The network's distance, and its derivatives by r, s and z.
SdfSample NeuralSdf::interpret(const Screw& q, const NetworkOutput& out) const {
  const auto by_z = [&](const NeuralWindow& window, float slope) {
    return q.z > window.low && q.z < window.high ? slope / window.scale : 0.0;
  };
  const Fade fade = fade_at(w, q.r);
  const double c = crest_at(w, q.s), g1 = out.g[1], g2 = out.g[2];
  return {w.unit * out.value, w.unit * Vec3(out.g[0] / w.r_scale + fade.slope * c * (g1 + c * g2),
                                            std::copysign(4.0 / w.pitch, q.s) * fade.value * (g1 + 2.0 * c * g2),
                                            by_z(w.end, out.g[3]) + by_z(w.runout, out.g[4]))};
}

/// The distance to the cylinder of radius R around z = low .. 0, and the direction (r, z) it grows in.
double cylinder_distance(double r, double z, double R, double low, double& gr, double& gz) {
  const double over = r - R, beyond = std::max(z, low - z), side = z > low - z ? 1.0 : -1.0;
  if (over > 0.0 && beyond > 0.0) {
    const double d = std::hypot(over, beyond);
    gr = over / d;
    gz = side * beyond / d;
    return d;
  }
  gr = over > beyond ? 1.0 : 0.0;
  gz = over > beyond ? 0.0 : side;
  return std::max(over, beyond);
}

void NeuralSdf::sample(SdfBlock& b) const {
  const double h = w.pitch / (2.0 * std::numbers::pi);
  Screw points[SdfBlock::kSize];
  NetworkInput inputs[SdfBlock::kSize];
  NetworkOutput outputs[SdfBlock::kSize];
  double radius[SdfBlock::kSize];
  int asked[SdfBlock::kSize], count = 0;
  for (int i = 0; i < b.count; ++i) {
    const double r = radius[i] = std::sqrt(b.x[i] * b.x[i] + b.y[i] * b.y[i]), z = b.z[i];
    double gr, gz;
    if (cylinder_distance(r, z, w.outer_radius, low, gr, gz) > w.band + w.guard ||
        cylinder_distance(r, z, w.inner_radius, low, gr, gz) < -w.band - w.guard)
      continue;
    const double s = z - h * std::atan2(b.y[i], b.x[i]);
    points[count] = {r, s - w.pitch * std::nearbyint(s / w.pitch), z};
    inputs[count] = see(points[count]);
    asked[count++] = i;
  }
  network.evaluate(inputs, count, outputs);
  SdfSample none{kNaN, Vec3::Zero()}, out;
  for (int i = 0, k = 0; i < b.count; ++i) {
    const bool has = k < count && asked[k] == i;
    finish(b.point(i), radius[i], has ? interpret(points[k], outputs[k]) : none, out);
    k += has ? 1 : 0;
    b.d[i] = out.d;
    b.gx[i] = out.g.x();
    b.gy[i] = out.g.y();
    b.gz[i] = out.g.z();
  }
}

/// Cuts the network's answer off, and takes its gradient into the axes of x, y, z. Without one (NaN), the cylinders
/// answer.
void NeuralSdf::finish(const Vec3& p, double r, const SdfSample& learnt, SdfSample& out) const {
  const double z = p.z(), h = w.pitch / (2.0 * std::numbers::pi), axis_r = std::max(r, 1e-9);
  double outer_r, outer_z, inner_r, inner_z;
  const double outer = cylinder_distance(r, z, w.outer_radius, low, outer_r, outer_z) - w.guard,
               inner = cylinder_distance(r, z, w.inner_radius, low, inner_r, inner_z) + w.guard;
  double d = learnt.d, gr = learnt.g[0], gt = -h / axis_r * learnt.g[1], gz = learnt.g[1] + learnt.g[2];
  const auto take = [&](double value, double vr, double vz) {
    d = value;
    gr = vr;
    gt = 0.0;
    gz = vz;
  };
  if (std::isnan(d)) {
    if (outer > 0.0)
      take(outer, outer_r, outer_z);
    else
      take(inner, inner_r, inner_z);
  } else {
    if (low - z > d) take(low - z, 0.0, -1.0);
    if (d > w.band) take(w.band, outer_r, outer_z);
    if (d < -w.band) take(-w.band, inner_r, inner_z);
    if (d < outer) take(outer, outer_r, outer_z);
    if (d > inner) take(inner, inner_r, inner_z);
  }
  const double c = r > 1e-9 ? p.x() / r : 1.0, s = r > 1e-9 ? p.y() / r : 0.0;
  const Vec3 g(gr * c - gt * s, gr * s + gt * c, gz);
  const double length = g.norm();
  out.d = d;
  out.g = length > 0.0 ? Vec3(g / length) : Vec3(outer_r * c, outer_r * s, outer_z);
}

void NeuralSdf::add_surface(const SurfaceOptions& options, TriangleSoup& soup) const {
  const std::size_t first = soup.vertices.size();
  if (outline != nullptr) {
    outline->add_surface(options, soup);
  } else {
    add_contoured(*this, options, soup);
  }
  constexpr int kSteps = 4;  // Newton's: corners start within the network's error
  for (std::size_t begin = first; begin < soup.vertices.size(); begin += SdfBlock::kSize) {
    SdfBlock b;
    const std::size_t end = std::min(begin + SdfBlock::kSize, soup.vertices.size());
    for (std::size_t i = begin; i < end; ++i) b.add(soup.vertices[i]);
    for (int k = 0; k < kSteps; ++k) {
      sample(b);
      for (int i = 0; i < b.count; ++i) b.set(i, b.point(i) - b.d[i] * b.gradient(i));
    }
    for (std::size_t i = begin; i < end; ++i) soup.vertices[i] = b.point(static_cast<int>(i - begin));
  }
}

}  // namespace

SdfPtr make_neural_sdf(NeuralWeights weights, double low, SdfPtr outline) {
  require(
      std::isfinite(low) && low < weights.runout.low,
      "neural rod: lower end is " + to_text(low) + ", expected below the run-out at " + to_text(weights.runout.low));
  auto sdf = std::make_shared<NeuralSdf>();
  sdf->network = Network(weights);
  weights.layers.clear();
  sdf->w = std::move(weights);
  sdf->low = low;
  sdf->outline = std::move(outline);
  return sdf;
}

SdfPtr make_taught_bolt(const BoltOptions& options) {
  const MetricThread m48 = find_thread("M48");
  BoltOptions longer = options;
  longer.thread_length = 2.0 * m48.diameter + 2.0 * m48.pitch;
  longer.head = false;
  return make_union({make_bolt(m48, options), make_bolt(m48, longer)});
}

SdfPtr make_neural_bolt() {
  const MetricThread m48 = find_thread("M48");
  // The lengths of make_bolt(); the rod ends within the head.
  const double length = 2.5 * m48.diameter, head = m48.head_height, low = -length - 0.5 * head;
  const SdfPtr outline = make_bolt(m48, {.length = -low, .thread_length = 2.0 * m48.diameter, .head = false});
  const SdfPtr rod = make_neural_sdf(read_neural_weights(bolt_weights(), "built-in weights"), low, outline);
  const Pose below = make_translation(0.0, 0.0, -length - 0.5 * head);
  return make_union({rod, make_posed(make_hexagon_sdf(m48.across_flats, 0.5 * head), below)});
}

}  // namespace almond
