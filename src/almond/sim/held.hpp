#pragma once
// Contacts that no joint can open: a link that turns about the normal of the floor it lies in, a toggle at its dead
// point. No impulse there changes the gap, so the law has nothing to say of it: λ = 0 obeys it where the gap is open,
// and no λ does where it is not. Such contacts are left out of the problem and counted.

#include "almond/collision/contact_point.hpp"
#include "almond/dynamics/kinematics.hpp"

namespace almond {

/// Whether some joint between the two bodies moves them along the normal, by more than a millionth of what it moves
/// them at all. Limits count as none: a joint at its limit may be what gives way. A joint whose limits are one moves
/// nothing.
[[nodiscard]] bool can_open(const Model& model, const Kinematics& kinematics, const ContactPoint& point);

/// Takes contacts that cannot open out of `contacts`, spare ones too; how many points that were.
int leave_out_held(const Model& model, const Kinematics& kinematics, Contacts& contacts);

}  // namespace almond
