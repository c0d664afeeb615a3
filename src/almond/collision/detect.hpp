#pragma once
// Poses -> contacts. Broad phase over boxes, then one pair at a time; knows neither velocities nor the solver.

#include <cstdint>
#include <memory>
#include <span>

#include "almond/base/pose.hpp"
#include "almond/collision/contact_point.hpp"
#include "almond/model/model.hpp"

namespace almond {

/// How far a geom may get until the next look: its origin moves by `shift` (world), any point of it by at most
/// |shift| + spin. Pairs are reported up to the gap that this can close, plus the margin.
struct GeomMotion {
  Vec3 shift = Vec3::Zero();  // [m]
  double spin = 0.0;          // [m]
  Vec3 turn =
      Vec3::Zero();  // the rotation that is part of `spin` [rad]: signed distance shapes look at each point's own way
};

struct CollisionOptions {
  double margin = 1e-3;               // gap [m] up to which contacts are reported for geoms at rest
  int max_points_per_pair = 8;        // of one flat contact (4 to 8); a mesh may have several
  int max_points_per_sdf_pair = 120;  // of two shapes of which one is given by a signed distance function
};

/// Scratch; grows on first use.
class CollisionWorkspace {
 public:
  CollisionWorkspace();
  ~CollisionWorkspace();
  CollisionWorkspace(CollisionWorkspace&&) noexcept;
  CollisionWorkspace& operator=(CollisionWorkspace&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// All contacts of the model with its geoms at X_WG (geoms), moving as `motion` (geoms) says. Never throws, never
/// allocates once the workspace and `contacts` have their size, same answer in every run. Pairs with none of `among`
/// (geoms) are left out, if there is such a choice.
void detect_contacts(const Model& model, const std::vector<Pose>& X_WG, const std::vector<GeomMotion>& motion,
                     const CollisionOptions& options, CollisionWorkspace& workspace, Contacts& contacts,
                     std::span<const std::uint8_t> among = {});

/// How much there is to be done, by what it takes memory for.
struct Crowd {
  std::size_t pairs = 0;     // whose boxes overlap
  std::size_t contacts = 0;  // spare ones included
};

/// The contacts that detect_contacts() would find, as long as there are no more than `most` of pairs and of contacts.
/// Beyond that it ends with what the last few geoms, or the last pair, brought, and without contacts where the pairs
/// are too many: it takes memory for about `most`, however many there are.
[[nodiscard]] Crowd count_crowd(const Model& model, const std::vector<Pose>& X_WG,
                                const std::vector<GeomMotion>& motion, const CollisionOptions& options,
                                const Crowd& most, Contacts& contacts);

}  // namespace almond
