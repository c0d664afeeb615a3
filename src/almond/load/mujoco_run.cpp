#include "almond/load/mujoco_run.hpp"

#include "almond/base/check.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <mujoco/mujoco.h>

#include <algorithm>
#include <map>

#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/mujoco_api.hpp"
#include "almond/load/mujoco_messages.hpp"
#include "almond/load/mujoco_model.hpp"
#include "almond/load/write_mjcf.hpp"
#endif

namespace almond {

#ifndef ALMOND_HAVE_MUJOCO

struct MujocoRun::Impl {};

MujocoRun::MujocoRun(const Model&, double, FileNotes&) {
  throw Error("this program was built without MuJoCo's library: `pip install mujoco-core` into .venv and build again");
}
void MujocoRun::set_drives(const VecX&, const VecX&, const VecX&) {}
bool MujocoRun::step(MujocoStep&) { return false; }
void MujocoRun::read_state(VecX&, VecX&) const {}
std::string MujocoRun::settings() const { return ""; }

#else

struct MujocoRun::Impl {
  const Model* model;
  FileNotes* notes;
  const MujocoApi& mj = mujoco_api("a run of MuJoCo");
  MujocoModel m{nullptr, mj.delete_model};
  std::unique_ptr<mjData, void (*)(mjData*)> d{nullptr, mj.delete_data};
  std::vector<int> joint;  // (our joints) MuJoCo's, -1: fixed
  std::vector<int> geom;   // (geoms of MuJoCo) ours

  [[nodiscard]] bool ran_away() const {
    const mjtWarning bad[] = {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL};
    const bool warned =
        std::any_of(std::begin(bad), std::end(bad), [&](mjtWarning w) { return d->warning[w].number > 0; });
    return warned || !Eigen::Map<const VecX>(d->qpos, m->nq).allFinite() ||
           !Eigen::Map<const VecX>(d->qvel, m->nv).allFinite();
  }
};

MujocoRun::MujocoRun(const Model& model, double time_step, FileNotes& notes) : impl_(std::make_unique<Impl>()) {
  Impl& r = *impl_;
  r.model = &model;
  r.notes = &notes;
  r.m = compile_mjcf(make_mjcf_files(write_mjcf(model, time_step, notes)), model.name + " cannot be run by MuJoCo",
                     notes);
  if (!model.drives.empty()) r.m->opt.integrator = mjINT_IMPLICITFAST;
  r.m->opt.disableflags |= mjDSBL_AUTORESET;  // a state that runs away ends the run instead of starting it anew
  const MujocoMessages messages(notes.said);
  r.d.reset(r.mj.make_data(r.m.get()));
  require(r.d != nullptr, model.name + ": no memory left for MuJoCo");
  if (r.m->nkey > 0) r.mj.reset_data_keyframe(r.m.get(), r.d.get(), 0);
  const auto find = [&](mjtObj kind, const std::string& name) {
    const int id = r.mj.name_to_id(r.m.get(), kind, name.c_str());
    require(id >= 0, model.name + " cannot be run by MuJoCo: " + quote(name) + " got lost on the way");
    return id;
  };
  for (const Joint& joint : model.joints)
    r.joint.push_back(num_positions(joint.kind) == 0 ? -1 : find(mjOBJ_JOINT, joint.name));
  r.geom.assign(r.m->ngeom, -1);
  for (int g = 0; g < model.num_geoms(); ++g) r.geom[find(mjOBJ_GEOM, model.geoms[g].name)] = g;
}

void MujocoRun::set_drives(const VecX& target, const VecX& target_velocity, const VecX& feedforward) {
  const std::vector<Drive>& drives = impl_->model->drives;
  for (std::size_t i = 0; i < drives.size(); ++i) {
    const Drive& drive = drives[i];
    const bool holds = drive.mode == DriveMode::kPosition || drive.mode == DriveMode::kImpedance;
    // MuJoCo's drives have one input each: force = gain (input - q) - d v, gain (input - v), or the input itself.
    const double gain = holds ? drive.stiffness : drive.mode == DriveMode::kVelocity ? drive.damping : 1.0;
    const double aim = holds ? target[i] : drive.mode == DriveMode::kVelocity ? target_velocity[i] : 0.0;
    const double push = feedforward[i] + (holds ? drive.damping * target_velocity[i] : 0.0);
    require(gain > 0.0 || push == 0.0,
            "drive " + quote(drive.name) + ": pushes without a gain, for which MuJoCo has no counterpart");
    impl_->d->ctrl[i] = aim + (push == 0.0 ? 0.0 : push / gain);
  }
}

bool MujocoRun::step(MujocoStep& step) {
  Impl& r = *impl_;
  const mjModel* m = r.m.get();
  mjData* d = r.d.get();
  if (r.ran_away()) return false;
  const VecX qpos = Eigen::Map<VecX>(d->qpos, m->nq), qvel = Eigen::Map<VecX>(d->qvel, m->nv);
  const MujocoMessages messages(r.notes->said);
  const Stopwatch watch;
  r.mj.step(m, d);
  step.step_ms = watch.elapsed_ms();
  if (r.ran_away()) {
    Eigen::Map<VecX>(d->qpos, m->nq) = qpos;
    Eigen::Map<VecX>(d->qvel, m->nv) = qvel;
    return false;
  }
  step.iterations = 0;
  for (int i = 0; i < std::min<int>(std::max(d->nisland, 1), mjNISLAND); ++i)
    step.iterations = std::max(step.iterations, d->solver_niter[i]);
  step.contacts.clear();
  for (int c = 0; c < d->ncon; ++c) {
    const mjContact& contact = d->contact[c];
    if (contact.geom[0] < 0 || contact.geom[1] < 0) continue;
    const Mat3 frame = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(contact.frame);  // rows n, t1, t2
    mjtNum force[6];
    r.mj.contact_force(m, d, c, force);
    step.contacts.push_back({.geom_a = r.geom[contact.geom[0]],
                             .geom_b = r.geom[contact.geom[1]],
                             .p = Vec3(contact.pos[0], contact.pos[1], contact.pos[2]),
                             .n = frame.row(0),
                             .force = frame.transpose() * Vec3(force[0], force[1], force[2]),
                             .gap = contact.dist,
                             .mu = contact.dim > 1 ? contact.friction[0] : 0.0});
  }
  return true;
}

void MujocoRun::read_state(VecX& q, VecX& v) const {
  const Model& model = *impl_->model;
  q.resize(model.num_q);
  v.resize(model.num_v);
  for (std::size_t b = 0; b < model.joints.size(); ++b) {
    const int j = impl_->joint[b];
    if (j < 0) continue;
    const Joint& joint = model.joints[b];
    const double* qpos = impl_->d->qpos + impl_->m->jnt_qposadr[j];
    const double* qvel = impl_->d->qvel + impl_->m->jnt_dofadr[j];
    q.segment(joint.q_begin, num_positions(joint.kind)) = joint_position(joint, qpos, {});
    v.segment(joint.v_begin, num_velocities(joint.kind)) = joint_velocity(model.bodies[b], joint, qpos, qvel, {});
  }
}

std::string MujocoRun::settings() const {
  const mjOption& option = impl_->m->opt;
  static const std::map<int, const char*> solvers = {{mjSOL_PGS, "PGS"}, {mjSOL_CG, "CG"}, {mjSOL_NEWTON, "Newton"}};
  static const std::map<int, const char*> integrators = {{mjINT_EULER, "Euler"},
                                                         {mjINT_RK4, "Runge-Kutta"},
                                                         {mjINT_IMPLICIT, "implicit"},
                                                         {mjINT_IMPLICITFAST, "implicitfast"}};
  return std::string("MuJoCo ") + impl_->mj.version_string() + ", " + solvers.at(option.solver) + ", " +
         (option.cone == mjCONE_ELLIPTIC ? "elliptic" : "pyramidal") + " cones, " + integrators.at(option.integrator);
}

#endif

MujocoRun::~MujocoRun() = default;
MujocoRun::MujocoRun(MujocoRun&&) noexcept = default;
MujocoRun& MujocoRun::operator=(MujocoRun&&) noexcept = default;

}  // namespace almond
