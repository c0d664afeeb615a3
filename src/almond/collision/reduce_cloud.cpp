// Few points for many: contacts of curved surfaces come in hundreds.

#include <algorithm>
#include <cmath>

#include "almond/collision/sdf_pairs.hpp"

namespace almond {
namespace {

constexpr float kNormalWeight = 0.5F;   // a turn by one radian counts as half the cloud's radius
constexpr double kDeepShare = 0.15;     // of the points are chosen for their depth alone
constexpr double kCarriedShare = 0.75;  // of the points at most are those that bore load in the last step
constexpr double kTouching = 0.02;      // of the margin: what is so near carries load, and gets half of the points
constexpr float kSame = 1e-7F;          // squared distance of points that coincide
constexpr int kLanes = 16;

/// From 1 where surfaces touch to 0 at the margin, where points come and go. Rounded, so that noise in the gaps does
/// not change the choice.
float closeness(double gap, double margin) {
  const double share = std::clamp(gap / std::max(margin, 1e-12), 0.0, 1.0);
  return static_cast<float>(1.0 - std::round(share * 16.0) / 16.0);
}

/// The cloud in six dimensions, coordinate by coordinate, padded to whole lanes.
struct Cloud {
  int padded;
  float *x, *y, *z, *nx, *ny, *nz, *weight, *touching, *carried, *apart;

  Cloud(int count, std::vector<float>& memory) : padded((count + kLanes - 1) / kLanes * kLanes) {
    memory.assign(10 * static_cast<std::size_t>(padded), 0.0F);
    float** const part[] = {&x, &y, &z, &nx, &ny, &nz, &weight, &touching, &carried, &apart};
    for (int k = 0; k < 10; ++k) *part[k] = memory.data() + static_cast<std::ptrdiff_t>(k) * padded;
  }

  /// Brings the squared distances to what is chosen up to date with one more point, and finds the farthest by weight;
  /// -1 if all that is left coincides with what is chosen.
  [[nodiscard]] int choose(int chosen, const float* by) const {
    const float px = x[chosen], py = y[chosen], pz = z[chosen], mx = nx[chosen], my = ny[chosen], mz = nz[chosen];
    float best[kLanes];
    int where[kLanes];
    std::fill_n(best, kLanes, kSame);
    std::fill_n(where, kLanes, -1);
    for (int begin = 0; begin < padded; begin += kLanes)
      for (int l = 0; l < kLanes; ++l) {
        const int i = begin + l;
        const float dx = x[i] - px, dy = y[i] - py, dz = z[i] - pz, ex = nx[i] - mx, ey = ny[i] - my, ez = nz[i] - mz;
        const float d = dx * dx + dy * dy + dz * dz + ex * ex + ey * ey + ez * ez;
        const float least = d < apart[i] ? d : apart[i], score = by[i] * least;
        apart[i] = least;
        const bool take = score > best[l];
        best[l] = take ? score : best[l];
        where[l] = take ? i : where[l];
      }
    int next = -1;
    float farthest = kSame;
    for (int l = 0; l < kLanes; ++l)
      if (where[l] >= 0 && (best[l] > farthest || (best[l] == farthest && where[l] < next)))
        farthest = best[l], next = where[l];
    return next;
  }
};

}  // namespace

void reduce_cloud(const PairOptions& options, SdfWorkspace& w, Manifold& manifold) {
  const int most = options.max_cloud;
  const double margin = options.margin;
  std::vector<ManifoldPoint>& points = manifold.points;
  const int count = static_cast<int>(points.size());
  if (count <= most) return;
  Vec3 low = points[0].p, high = points[0].p;
  int deepest = 0;
  for (int i = 0; i < count; ++i) {
    low = low.cwiseMin(points[i].p);
    high = high.cwiseMax(points[i].p);
    if (points[i].gap < points[deepest].gap - 1e-9) deepest = i;
  }
  const auto carried = [&](const ManifoldPoint& point) {
    const auto at = std::lower_bound(options.carried.begin(), options.carried.end(), point.feature,
                                     [](const ContactName& name, std::uint32_t f) { return name.feature < f; });
    return at != options.carried.end() && at->feature == point.feature;
  };
  const double touch = std::max(points[deepest].gap, 0.0) + kTouching * margin;
  const Vec3 middle = 0.5 * (low + high);
  const double scale = 1.0 / std::max(0.5 * (high - low).norm(), 1e-12);
  const Cloud cloud(count, w.cloud);
  for (int i = 0; i < count; ++i) {
    const Eigen::Vector3f p = (scale * (points[i].p - middle)).cast<float>(),
                          n = kNormalWeight * points[i].n.cast<float>();
    cloud.x[i] = p.x();
    cloud.y[i] = p.y();
    cloud.z[i] = p.z();
    cloud.nx[i] = n.x();
    cloud.ny[i] = n.y();
    cloud.nz[i] = n.z();
    const float c = closeness(points[i].gap, margin);
    cloud.weight[i] = c * c;
    cloud.touching[i] = points[i].gap <= touch ? 1.0F : 0.0F;
    cloud.carried[i] = carried(points[i]) ? 1.0F : 0.0F;
    cloud.apart[i] = 1e30F;
  }
  w.taken.assign(static_cast<std::size_t>(count), 0);
  const int spread = most - static_cast<int>(kDeepShare * most);
  // First what bore load in the last step, so that equal points do not take turns; then what touches; then the rest.
  const std::pair<const float*, int> stages[] = {
      {cloud.carried, static_cast<int>(kCarriedShare * most)}, {cloud.touching, spread / 2}, {cloud.weight, spread}};
  int chosen = 0;
  std::size_t stage = 0;
  for (int next = deepest; next >= 0 && chosen < spread;) {
    w.taken[next] = 1;
    const int last = next;
    ++chosen;
    for (next = -1; next < 0 && stage < std::size(stages); stage += next < 0 ? 1 : 0)
      if (chosen < stages[stage].second) next = cloud.choose(last, stages[stage].first);
  }
  w.order.clear();
  for (int i = 0; i < count; ++i)
    if (w.taken[i] == 0 && cloud.apart[i] > kSame) w.order.emplace_back(std::floor(1e9 * points[i].gap), i);
  const auto deep = std::min<std::ptrdiff_t>(most - chosen, std::ssize(w.order));
  std::nth_element(w.order.begin(), w.order.begin() + deep, w.order.end());
  for (std::ptrdiff_t k = 0; k < deep; ++k) w.taken[w.order[k].second] = 1;
  for (int i = 0; i < count; ++i)
    if (w.taken[i] == 0) manifold.spare.push_back(points[i]);
  int kept = 0;
  for (int i = 0; i < count; ++i)
    if (w.taken[i] != 0) points[kept++] = points[i];
  points.resize(static_cast<std::size_t>(kept));
}

}  // namespace almond
