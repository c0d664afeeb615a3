"""Scenes in Drake: the discrete MultibodyPlant with its default proximity properties.

drake_lagged is its default contact approximation, drake_sap and drake_tamsi the others. Boxes are hydroelastic, as point contact has one
point per pair of shapes, which no box can stand on; balls and robots use point contact.
"""

import time

import numpy as np
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (AddCompliantHydroelasticProperties, AddContactMaterial, AddRigidHydroelasticProperties, Box,
                              CollisionFilterDeclaration, GeometrySet,
                              HalfSpace, HydroelasticContactRepresentation, ProximityProperties, Sphere)
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, DiscreteContactApproximation
from pydrake.multibody.tree import FixedOffsetFrame, PrismaticJoint, RevoluteJoint, RevoluteSpring, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from peer_law import Touching
from peer_scenes import DT, G

APPROXIMATIONS = {"drake_lagged": DiscreteContactApproximation.kLagged, "drake_sap": DiscreteContactApproximation.kSap,
                  "drake_tamsi": DiscreteContactApproximation.kTamsi}
POINT_KINDS = ("balls", "robots", "growth", "drop", "roll")


def transform(pos, quat):
    quat = np.asarray(quat) / np.linalg.norm(quat)
    return RigidTransform(Quaternion(quat), pos)


def shape_of(kind, size):
    if kind == "box":
        return Box(*(2.0 * s for s in size))
    return Sphere(size[0]) if kind == "sphere" else HalfSpace()


class Run:
    def __init__(self, scene, setting):
        self.scene = scene
        builder = DiagramBuilder()
        plant, graph = AddMultibodyPlantSceneGraph(builder, DT)
        self.plant = plant
        plant.set_discrete_contact_approximation(APPROXIMATIONS[setting])
        point = scene["kind"] in POINT_KINDS
        plant.set_contact_model(ContactModel.kPoint if point else ContactModel.kHydroelasticWithFallback)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -G])
        friction = CoulombFriction(scene["mu"], scene["mu"])

        def add_geoms(body, geoms, name):
            for k, (kind, size, pos, quat) in enumerate(geoms):
                properties = ProximityProperties()
                AddContactMaterial(dissipation=50.0, friction=friction, properties=properties)
                if not point and kind == "plane":
                    AddRigidHydroelasticProperties(properties)
                elif not point:
                    AddCompliantHydroelasticProperties(min(size), 1e7, properties)
                plant.RegisterCollisionGeometry(body, transform(pos, quat), shape_of(kind, size), f"{name}{k}", properties)

        add_geoms(plant.world_body(), scene["static"], "static")
        self.bodies, pushed = {}, []
        for b in scene["bodies"]:
            central = UnitInertia(*(np.asarray(b["inertia"]) / b["mass"]))
            spatial = SpatialInertia(b["mass"], b["com"], central.ShiftFromCenterOfMass(b["com"]))
            body = plant.AddRigidBody(b["name"], spatial)
            self.bodies[b["name"]] = body
            add_geoms(body, b["geoms"], b["name"])
            if b["joint"] == "free":
                continue
            parent = plant.world_body() if b["parent"] is None else self.bodies[b["parent"]]
            kind = RevoluteJoint if b["joint"] == "hinge" else PrismaticJoint
            frame = plant.AddFrame(FixedOffsetFrame(f"{b['name']}_at", parent.body_frame(), transform(b["pos"], b["quat"])))
            joint = plant.AddJoint(kind(f"{b['name']}_joint", frame, body.body_frame(), b["axis"], damping=b["damping"]))
            if b["stiffness"]:
                plant.AddForceElement(RevoluteSpring(joint, b["rest"], b["stiffness"]))
            if b["push"]:
                pushed.append((plant.AddJointActuator(f"{b['name']}_push", joint), b["push"]))
        plant.Finalize()
        for b in scene["bodies"]:
            if b["parent"]:  # those that a joint joins never touch
                pair = GeometrySet()
                for name in (b["name"], b["parent"]):
                    pair.Add(plant.GetBodyFrameIdOrThrow(self.bodies[name].index()))
                graph.collision_filter_manager().Apply(CollisionFilterDeclaration().ExcludeWithin(pair))
        diagram = builder.Build()
        self.simulator = Simulator(diagram)
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        for b in scene["bodies"]:
            body = self.bodies[b["name"]]
            if b["joint"] == "free":
                plant.SetFreeBodyPose(self.context, body, transform(b["pos"], b["quat"]))
                plant.SetFreeBodySpatialVelocity(self.context, body, SpatialVelocity(np.zeros(3), np.asarray(b["velocity"])))
            else:
                joint = plant.GetJointByName(f"{b['name']}_joint")
                (joint.set_angle if b["joint"] == "hinge" else joint.set_translation)(self.context, b["start"])
        if pushed:
            plant.get_actuation_input_port().FixValue(self.context, [effort for _, effort in pushed])
        self.simulator.Initialize()
        self.count, self.point = 0, point
        self.before = plant.CreateDefaultContext()

    def step(self):
        self.count += 1
        self.simulator.AdvanceTo(self.count * DT)

    def poses(self, context=None):
        out = np.empty((len(self.scene["bodies"]), 7))
        for k, b in enumerate(self.scene["bodies"]):
            pose = self.plant.EvalBodyPoseInWorld(context or self.context, self.bodies[b["name"]])
            out[k, :3], out[k, 3:] = pose.translation(), pose.rotation().ToQuaternion().wxyz()
        return out

    def push(self):
        """Where the step begins, for judge()."""
        self.plant.SetPositions(self.before, self.plant.GetPositions(self.context))

    def split(self):
        """Geometry queries on their own [ms of this thread]; Drake does not let the solver run alone."""
        query = self.plant.get_geometry_query_input_port().Eval(self.context)
        start = time.thread_time_ns()
        if self.point:
            query.ComputePointPairPenetration()
        else:
            query.ComputeContactSurfacesWithFallback(HydroelasticContactRepresentation.kPolygon)
        return {"collide": 1e-6 * (time.thread_time_ns() - start)}

    def judge(self):
        """From the contact results of the last step, at the poses with which it began; None for surfaces, which have no points."""
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        if results.num_hydroelastic_contacts():
            return None
        plant, before = self.plant, self.before
        plant.SetVelocities(before, plant.GetVelocities(self.context))
        index = {self.bodies[b["name"]].index(): k for k, b in enumerate(self.scene["bodies"])}
        bodies, points, normals, impulses, velocities, gaps = [], [], [], [], [], []
        for i in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(i)
            pair, point = info.point_pair(), info.contact_point()
            speeds = []
            for number in (info.bodyA_index(), info.bodyB_index()):
                body = plant.get_body(number)
                motion = plant.EvalBodySpatialVelocityInWorld(before, body)
                arm = point - plant.EvalBodyPoseInWorld(before, body).translation()
                speeds.append(motion.translational() + np.cross(motion.rotational(), arm))
            bodies.append([index.get(info.bodyA_index(), -1), index.get(info.bodyB_index(), -1)])
            points.append(point)
            normals.append(-pair.nhat_BA_W)
            impulses.append(DT * info.contact_force())
            velocities.append(speeds[1] - speeds[0])
            gaps.append(-pair.depth)
        shape = (-1, 3)
        return Touching(self.scene, self.poses(before), np.array(bodies, int).reshape(-1, 2), np.reshape(points, shape),
                        np.reshape(normals, shape), impulses, velocities, gaps).residuals()
