#pragma once
// Kinematics, contacts and inputs -> ContactProblem.
//
//   A = M + dt D + dt² K,    b = M (v + d) + dt f - dt K (q - rest),    v̂ = v⁺ + d             from (2)
//
// with the implicit dampers D and springs K of joints and of drives without effort limit on the diagonal, and d the
// half step of the free motion that follows (drift.hpp). Constraints:
//
//   contact       Signorini-Coulomb (5); e_n = gap/dt before touching, so that a body lands without overlap;
//                 e_n = -min(erp depth/dt, cap) where shapes overlap
//   joint limit   hard (3), e = distance to the limit / dt, likewise
//   dry friction  bounded, |λ| <= dt τ
//   closure       equality, e = closure_erp φ/dt (capped) + dt/2 J̇v: the second term removes the drift of turning links
//   spring        soft (4): λ = -dt k (x - x0 + dt J v̂) - dt b J v̂
//   drive         soft, the same with its effort limit as bound
//   tendon        limits, friction and spring likewise, along Σ coefficient v

#include "almond/collision/contact_point.hpp"
#include "almond/dynamics/drift.hpp"
#include "almond/sim/options.hpp"
#include "almond/sim/state.hpp"
#include "almond/solver/problem.hpp"

namespace almond {

/// What a one-row constraint stands for; `index` is the joint, closure, spring, drive or tendon.
enum class RowRole : std::uint8_t {
  kLowerLimit,
  kUpperLimit,
  kDryFriction,
  kClosure,
  kSpring,
  kDrive,
  kTendonLower,
  kTendonUpper,
  kTendonFriction,
  kTendonSpring
};

struct RowTag {
  RowRole role;
  int index;
  int row;  // of a closure, or dof of a joint
  [[nodiscard]] std::uint32_t key() const {
    return static_cast<std::uint32_t>(role) << 28 | static_cast<std::uint32_t>(index) << 3 |
           static_cast<std::uint32_t>(row);
  }
};

struct Assembly {
  ContactProblem problem;
  std::vector<RowTag> hard, soft, equality, bounded;  // as the pools of the problem
  std::vector<Mat3> frames;                           // (contacts) columns t1, t2, n
  std::vector<double> closing, approach;              // (contacts) before the step, and if nothing hindered it [m/s]
  std::vector<double> correction;                     // (closures) the part of e that mends errors of position
  std::vector<int> closure;                           // (closures) rows of one closure and unit share a number
  std::vector<Row> dropped;                           // rows of closures that others stand for (independent.hpp),
  std::vector<double> dropped_correction;             // and what of their e mends errors of position
  int soft_closures = 0;                              // first soft row that is a closure (independent.hpp)
  VecX d, f;                                          // (num_v) half step, forces
  VecX resistance;                                    // (num_v) what dampers and drives add to the inertia of a joint

  // Scratch.
  VecX moved, compensation, implicit;
  std::vector<Mat6> composite;
  DriftWorkspace drift;
};

/// Fills assembly.problem.
void assemble(const Model& model, const State& state, const Kinematics& kinematics, const Contacts& contacts,
              const Inputs& inputs, const StepOptions& options, Assembly& assembly);

/// The velocities of the answer `lambda` belongs to move the bodies, but are not always those they end with: what lands
/// at speed s leaves at ε s (Newton), and being pushed out of an overlap is no speed. Changes the biases to those of
/// the end: e_n = -ε s for landings, no corrections. False, and nothing changed, where the answer holds for the end as
/// well: nothing lands, and no correction is faster than `noticeable`.
bool set_end_biases(const Contacts& contacts, const GrowVector& lambda, const StepOptions& options, double noticeable,
                    Assembly& assembly);
/// The bounces alone; false where nothing lands.
bool set_bounces(const Contacts& contacts, const GrowVector& lambda, const StepOptions& options, Assembly& assembly);

}  // namespace almond
