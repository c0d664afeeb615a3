#include "almond/sim/state.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

constexpr char kMagic[8] = {'a', 'l', 'm', 'o', 'n', 'd', 'S', '2'};

std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  return hash;
}

std::uint64_t fnv1a(const VecX& v, std::uint64_t hash) {
  return fnv1a(v.data(), static_cast<std::size_t>(v.size()) * sizeof(double), hash);
}

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const VecX& v) {
    put(static_cast<std::int64_t>(v.size()));
    bytes.append(reinterpret_cast<const char*>(v.data()), static_cast<std::size_t>(v.size()) * sizeof(double));
  }
  std::string bytes;
};

class Reader {
 public:
  Reader(const std::string& bytes, std::string place) : bytes_(bytes), place_(std::move(place)) {}
  template <class T>
  T get() {
    T value;
    take(&value, sizeof value);
    return value;
  }
  VecX get_vector(Eigen::Index expected, const char* what) {
    const auto count = get<std::int64_t>();
    require(count == expected,
            place_ + ": has " + std::to_string(count) + " " + what + ", the model has " + std::to_string(expected));
    VecX v(count);
    take(v.data(), static_cast<std::size_t>(count) * sizeof(double));
    require(v.allFinite(), place_ + ": " + what + " are not finite");
    return v;
  }
  /// Number of elements that follow, each of `size` bytes.
  std::size_t get_count(std::size_t size) {
    const auto count = get<std::uint64_t>();
    require(count <= (bytes_.size() - at_) / size, place_ + ": is cut off");
    return static_cast<std::size_t>(count);
  }
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }

 private:
  void take(void* to, std::size_t size) {
    require(size <= bytes_.size() - at_, place_ + ": is cut off");
    std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  const std::string& bytes_;
  std::string place_;
  std::size_t at_ = 0;
};

/// Rotations of the model's joints, as far from 1 as a run with rounding can get.
void check_quaternions(const Model& model, const VecX& q, const std::string& place) {
  for (const Joint& joint : model.joints) {
    if (joint.kind != JointKind::kFree && joint.kind != JointKind::kBall) continue;
    const double norm = q.segment<4>(joint.q_begin + (joint.kind == JointKind::kFree ? 3 : 0)).norm();
    require(std::abs(norm - 1.0) < 1e-9,
            place + ": the quaternion of joint " + quote(joint.name) + " has norm " + to_text(norm) + ", expected 1");
  }
}

constexpr std::size_t kContactBytes = 2 * sizeof(std::int32_t) + sizeof(std::uint32_t) + 3 * sizeof(double);
constexpr double kLatest = 1e12;                            // [s]
constexpr std::int64_t kMostSteps = std::int64_t{1} << 62;  // so that nobody counts beyond the last number
constexpr std::size_t kRowBytes = sizeof(std::uint32_t) + sizeof(double);

}  // namespace

Rng::Rng(std::uint64_t seed) : s{} {
  // SplitMix64, as recommended for seeding.
  for (std::uint64_t& word : s) {
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Rng::next() {
  const auto rotate = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  const std::uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

double State::impulse_of(std::uint32_t key) const {
  const auto found = std::lower_bound(rows.begin(), rows.end(), key,
                                      [](const RowMemory& row, std::uint32_t value) { return row.key < value; });
  return found != rows.end() && found->key == key ? found->impulse : 0.0;
}

std::uint64_t fingerprint(const Model& model) {
  Writer w;
  const auto put_text = [&w](const std::string& text) {
    w.put(static_cast<std::uint64_t>(text.size()));
    w.bytes += text;
  };
  const auto put_pose = [&w](const Pose& X) {
    for (const double x : X.R.reshaped()) w.put(x);
    for (const double x : X.p) w.put(x);
  };
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    const Joint& joint = model.joints[b];
    put_text(body.name);
    w.put(body.parent);
    w.put(body.mass);
    for (const double x : body.com) w.put(x);
    for (const double x : body.inertia.reshaped()) w.put(x);
    w.put(joint.kind);
    put_pose(joint.X_PJ);
    for (const double x : joint.axis) w.put(x);
    for (const double x : joint.anchor) w.put(x);
  }
  for (const Geom& geom : model.geoms) {
    w.put(geom.body);
    w.put(static_cast<std::uint64_t>(geom.shape.index()));
    w.put(geom.radius);
    put_pose(geom.X_BG);
  }
  for (const std::size_t count :
       {model.drives.size(), model.springs.size(), model.closures.size(), model.tendons.size()})
    w.put(static_cast<std::uint64_t>(count));
  return fnv1a(w.bytes.data(), w.bytes.size());
}

State make_state(const Model& model, std::uint64_t seed) {
  State state;
  state.model = fingerprint(model);
  state.q = model.q0;
  state.v = model.v0;
  state.rng = Rng(seed);
  return state;
}

std::uint64_t state_hash(const State& state) {
  return fnv1a(&state.time, sizeof state.time, fnv1a(state.v, fnv1a(state.q, 0xcbf29ce484222325ULL)));
}

std::string hash_text(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string serialize(const State& state) {
  Writer w;
  w.bytes.assign(kMagic, sizeof kMagic);
  w.put(state.model);
  w.put(state.q);
  w.put(state.v);
  w.put(state.time);
  w.put(state.steps);
  for (const std::uint64_t word : state.rng.s) w.put(word);
  w.put(static_cast<std::uint64_t>(state.contacts.size()));
  for (const ContactMemory& c : state.contacts) {
    w.put(static_cast<std::int32_t>(c.geom_a));
    w.put(static_cast<std::int32_t>(c.geom_b));
    w.put(c.feature);
    for (int i = 0; i < 3; ++i) w.put(c.impulse[i]);
  }
  w.put(static_cast<std::uint64_t>(state.rows.size()));
  for (const RowMemory& r : state.rows) {
    w.put(r.key);
    w.put(r.impulse);
  }
  w.put(fnv1a(w.bytes.data(), w.bytes.size()));
  return w.bytes;
}

State deserialize(const std::string& bytes, const Model& model, const std::string& place) {
  require(
      bytes.size() >= sizeof kMagic + sizeof(std::uint64_t) && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0,
      place + ": is no almond state (it does not begin with \"almondS2\")");
  std::uint64_t sum = 0;
  const std::size_t body = bytes.size() - sizeof sum;
  std::memcpy(&sum, bytes.data() + body, sizeof sum);
  require(sum == fnv1a(bytes.data(), body), place + ": is damaged (the checksum differs)");
  const std::string content = bytes.substr(sizeof kMagic, body - sizeof kMagic);
  Reader r(content, place);
  State state;
  state.model = r.get<std::uint64_t>();
  state.q = r.get_vector(model.num_q, "positions");
  state.v = r.get_vector(model.num_v, "velocities");
  require(state.model == fingerprint(model),
          place + ": was saved from another model (" + hash_text(state.model) + "), expected model " +
              quote(model.name) + " (" + hash_text(fingerprint(model)) + "), the same in joints, masses and shapes");
  check_quaternions(model, state.q, place);
  state.time = r.get<double>();
  require(std::abs(state.time) <= kLatest, place + ": time is " + to_text(state.time) + ", expected at most " +
                                               to_text(kLatest) + " s before or after 0");
  state.steps = r.get<std::int64_t>();
  require(state.steps >= 0 && state.steps <= kMostSteps,
          place + ": has made " + std::to_string(state.steps) + " steps, expected 0 to " + std::to_string(kMostSteps));
  for (std::uint64_t& word : state.rng.s) word = r.get<std::uint64_t>();
  state.contacts.resize(r.get_count(kContactBytes));
  for (ContactMemory& c : state.contacts) {
    c.geom_a = r.get<std::int32_t>();
    c.geom_b = r.get<std::int32_t>();
    c.feature = r.get<std::uint32_t>();
    for (int i = 0; i < 3; ++i) c.impulse[i] = r.get<double>();
    require(c.impulse.allFinite(), place + ": an impulse is not finite");
  }
  state.rows.resize(r.get_count(kRowBytes));
  for (RowMemory& row : state.rows) {
    row.key = r.get<std::uint32_t>();
    row.impulse = r.get<double>();
    require(std::isfinite(row.impulse), place + ": an impulse is not finite");
  }
  require(r.done(), place + ": has bytes behind its end");
  return state;
}

}  // namespace almond
