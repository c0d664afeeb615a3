"""Scenes in Bullet (PyBullet): btMultiBody with its PGS, cone friction, no damping, no sleeping.

bullet50: its default of 50 iterations; bullet1000: 1000 iterations and no early end.
"""

import time

import numpy as np
import pybullet as p

from peer_law import Touching
from peer_scenes import DT, G, rotate

KINDS = {"hinge": p.JOINT_REVOLUTE, "slide": p.JOINT_PRISMATIC}


def xyzw(quat):
    return (*quat[1:], quat[0])


def wxyz(quat):
    return (quat[3], *quat[:3])


def shape_of(geoms):
    """One shape as it is, several as a compound; -1: nothing collides."""
    if not geoms:
        return -1
    if len(geoms) == 1:
        kind, size, pos, quat = geoms[0]
        more = {"halfExtents": size} if kind == "box" else {"radius": size[0]}
        return p.createCollisionShape(p.GEOM_BOX if kind == "box" else p.GEOM_SPHERE, collisionFramePosition=pos,
                                      collisionFrameOrientation=xyzw(quat), **more)
    return p.createCollisionShapeArray(
        shapeTypes=[p.GEOM_BOX if g[0] == "box" else p.GEOM_SPHERE for g in geoms],
        halfExtents=[g[1] if g[0] == "box" else (0.0, 0.0, 0.0) for g in geoms],
        radii=[g[1][0] if g[0] == "sphere" else 0.0 for g in geoms],
        collisionFramePositions=[g[2] for g in geoms], collisionFrameOrientations=[xyzw(g[3]) for g in geoms])


class Run:
    def __init__(self, scene, setting):
        iterations = int(setting.removeprefix("bullet"))
        if p.isConnected():
            p.disconnect()
        p.connect(p.DIRECT)
        p.setGravity(0, 0, -G)
        p.setPhysicsEngineParameter(fixedTimeStep=DT, numSolverIterations=iterations, numSubSteps=0, enableConeFriction=1,
                                    **({} if iterations == 50 else {"solverResidualThreshold": 0.0}))
        self.friction = float(np.sqrt(scene["mu"]))  # Bullet multiplies those of a pair
        self.scene, self.places, self.joints = scene, {}, []
        for kind, size, pos, quat in scene["static"]:
            if kind == "plane":
                shape = p.createCollisionShape(p.GEOM_PLANE, planeNormal=rotate(quat, (0.0, 0.0, 1.0)))
                self.settle(p.createMultiBody(0, shape, basePosition=pos))
            else:
                shape = p.createCollisionShape(p.GEOM_BOX, halfExtents=size)
                self.settle(p.createMultiBody(0, shape, basePosition=pos, baseOrientation=xyzw(quat)))
        trees = {}
        for b in scene["bodies"]:
            root = b["name"] if b["parent"] is None else self.places[b["parent"]][2]
            trees.setdefault(root, []).append(b)
            self.places[b["name"]] = (None, None, root)
        for tree in trees.values():
            self.add_tree(tree)

    def settle(self, number):
        # One call would drop the friction of links, where damping and activation are the whole tree's.
        p.changeDynamics(number, -1, linearDamping=0, angularDamping=0, activationState=p.ACTIVATION_STATE_DISABLE_SLEEPING)
        for link in range(-1, p.getNumJoints(number)):
            p.changeDynamics(number, link, lateralFriction=self.friction, rollingFriction=0, spinningFriction=0, restitution=0)

    def add_tree(self, tree):
        root = tree[0]
        free = root["joint"] == "free"
        links = tree[1:] if free else tree  # what hangs on the world hangs on a base that stands still
        index = {b["name"]: k for k, b in enumerate(links)}
        number = p.createMultiBody(
            baseMass=root["mass"] if free else 0.0, baseCollisionShapeIndex=shape_of(root["geoms"]) if free else -1,
            basePosition=root["pos"] if free else (0, 0, 0), baseOrientation=xyzw(root["quat"]) if free else (0, 0, 0, 1),
            baseInertialFramePosition=root["com"] if free else (0, 0, 0),
            linkMasses=[b["mass"] for b in links], linkCollisionShapeIndices=[shape_of(b["geoms"]) for b in links],
            linkVisualShapeIndices=[-1] * len(links), linkPositions=[b["pos"] for b in links],
            linkOrientations=[xyzw(b["quat"]) for b in links], linkInertialFramePositions=[b["com"] for b in links],
            linkInertialFrameOrientations=[(0, 0, 0, 1)] * len(links),
            linkParentIndices=[index.get(b["parent"], -1) + 1 for b in links],
            linkJointTypes=[KINDS[b["joint"]] for b in links], linkJointAxis=[b["axis"] for b in links],
            flags=p.URDF_USE_SELF_COLLISION)
        self.settle(number)
        if free:
            p.changeDynamics(number, -1, localInertiaDiagonal=root["inertia"])
            p.resetBaseVelocity(number, root["velocity"], (0, 0, 0))
            self.places[root["name"]] = (number, -1, root["name"])
        for k, b in enumerate(links):
            self.places[b["name"]] = (number, k, root["name"])
            p.changeDynamics(number, k, localInertiaDiagonal=b["inertia"], jointDamping=b["damping"], jointLowerLimit=1,
                             jointUpperLimit=-1)  # lower above upper: none
            p.resetJointState(number, k, b["start"])
            p.setJointMotorControl2(number, k, p.VELOCITY_CONTROL, force=0)
            self.joints.append((number, k, b))

    def step(self):
        p.stepSimulation()

    def push(self):
        for number, link, b in self.joints:
            effort = b["push"]
            if b["stiffness"]:
                effort += b["stiffness"] * (b["rest"] - p.getJointState(number, link)[0])
            p.setJointMotorControl2(number, link, p.TORQUE_CONTROL, force=effort)

    def poses(self):
        out = np.empty((len(self.scene["bodies"]), 7))
        for k, b in enumerate(self.scene["bodies"]):
            number, link, _ = self.places[b["name"]]
            if link < 0:
                pos, quat = p.getBasePositionAndOrientation(number)
                out[k, 3:] = wxyz(quat)
                out[k, :3] = np.asarray(pos) - rotate(out[k, 3:], b["com"])
            else:
                state = p.getLinkState(number, link, computeForwardKinematics=1)
                out[k, :3], out[k, 3:] = state[4], wxyz(state[5])
        return out

    def split(self):
        """Collision detection on its own [ms of this thread]; Bullet does not let the solver run alone."""
        start = time.thread_time_ns()
        p.performCollisionDetection()
        return {"collide": 1e-6 * (time.thread_time_ns() - start)}

    def moving(self, number, link):
        """Velocity of the centre of mass and angular velocity, and where that centre is."""
        if link < 0:
            return (*p.getBaseVelocity(number), p.getBasePositionAndOrientation(number)[0])
        state = p.getLinkState(number, link, computeLinkVelocity=1, computeForwardKinematics=1)
        return state[6], state[7], state[0]

    def judge(self):
        """From the forces that Bullet reports, which do not always give the velocities that it has: an indication."""
        index = {place[:2]: k for k, place in enumerate(self.places[b["name"]] for b in self.scene["bodies"])}
        moving = {place: tuple(map(np.array, self.moving(*place))) for place in index}
        bodies, points, normals, impulses, velocities, gaps = [], [], [], [], [], []
        for c in p.getContactPoints():
            pair = ((c[2], c[4]), (c[1], c[3]))  # its normal points from the second body to the first
            point = 0.5 * (np.array(c[5]) + np.array(c[6]))
            speeds = [v + np.cross(w, point - com) for v, w, com in (moving.get(place, (np.zeros(3), np.zeros(3), point)) for place in pair)]
            bodies.append([index.get(place, -1) for place in pair])
            points.append(point)
            normals.append(c[7])
            impulses.append(DT * (c[9] * np.array(c[7]) + c[10] * np.array(c[11]) + c[12] * np.array(c[13])))
            velocities.append(speeds[1] - speeds[0])
            gaps.append(c[8])
        shape = (-1, 3)
        return Touching(self.scene, self.poses(), np.array(bodies, int).reshape(-1, 2), np.reshape(points, shape), np.reshape(normals, shape),
                        impulses, velocities, gaps).residuals()
