#pragma once
// State: everything that the next step depends on besides the model, the options and the inputs. Small, copyable; a
// copy is a snapshot, and stepping on from it gives the same bits.

#include <cstdint>
#include <string>
#include <vector>

#include "almond/model/model.hpp"

namespace almond {

/// Random numbers that are part of the state (xoshiro256**), the same on every machine.
class Rng {
 public:
  explicit Rng(std::uint64_t seed = 0);
  std::uint64_t next();
  /// Uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  std::uint64_t s[4];
};

/// What is known of a contact from the last step.
struct ContactMemory {
  int geom_a = -1, geom_b = -1;
  std::uint32_t feature = 0;
  Vec3 impulse = Vec3::Zero();  // on b, world axes [N s]
};

/// The impulse of a one-row constraint, by its name.
struct RowMemory {
  std::uint32_t key = 0;
  double impulse = 0.0;
};

struct State {
  std::uint64_t model = 0;  // fingerprint of the model it belongs to
  VecX q, v;                // as in model.hpp
  double time = 0.0;
  std::int64_t steps = 0;
  std::vector<ContactMemory> contacts;  // sorted by (geom_a, geom_b, feature)
  std::vector<RowMemory> rows;          // sorted by key
  Rng rng;

  /// Impulse of the row with this key in the last step; 0 where there was none.
  [[nodiscard]] double impulse_of(std::uint32_t key) const;
};

/// 64 bits of the names, joints, inertias and geoms of a model: what gives the numbers of a state their meaning.
[[nodiscard]] std::uint64_t fingerprint(const Model& model);

/// The model's start.
[[nodiscard]] State make_state(const Model& model, std::uint64_t seed = 0);

/// 64 bits of q, v and time (FNV-1a): equal for equal bits.
[[nodiscard]] std::uint64_t state_hash(const State& state);
[[nodiscard]] std::string hash_text(std::uint64_t hash);

/// The whole state as bytes, with a mark, a version and a checksum.
[[nodiscard]] std::string serialize(const State& state);
/// Throws Error naming `place` when the bytes are no state, damaged, of another version, or of another model.
[[nodiscard]] State deserialize(const std::string& bytes, const Model& model, const std::string& place);

}  // namespace almond
