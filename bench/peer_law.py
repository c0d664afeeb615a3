"""How far impulses and velocities of contacts are from the law, the same for every engine. Rows are (t1, t2, n)."""

import numpy as np

from peer_scenes import DT


def strict(x, mu):
    """T of the paper: the normal to what is not negative, then the tangent onto the disc of radius mu times that. Rows (t1, t2, n)."""
    normal = np.maximum(x[:, 2], 0.0)
    tangent = np.hypot(x[:, 0], x[:, 1])
    shrink = np.divide(mu * normal, tangent, out=np.ones_like(tangent), where=tangent > mu * normal)
    return np.column_stack((x[:, 0] * shrink, x[:, 1] * shrink, normal))


def residual(impulse, velocity, bias, mu):
    """The paper's: |lambda - T(lambda - w)| / contacts [N s], w = velocity + bias along the normal. Rows (t1, t2, n)."""
    if len(mu) == 0:
        return 0.0
    w = velocity.copy()
    w[:, 2] += bias
    return float(np.linalg.norm(impulse - strict(impulse - w, mu)) / len(mu))


def scaled_residual(impulse, velocity, bias, mu, trace):
    """The same in m/s, root mean square over contacts: each contact with the penalty 3 / tr W_ii that its own inertia asks for."""
    if len(mu) == 0:
        return 0.0
    rho = (3.0 / trace)[:, None]
    w = velocity.copy()
    w[:, 2] += bias
    return float(np.sqrt(np.mean(np.sum(((impulse - strict(impulse - rho * w, mu)) / rho) ** 2, axis=1))))


def bias_e0(gap):
    return np.maximum(gap, 0.0) / DT


def bias_erp2(gap):
    return np.where(gap > 0.0, gap, 0.2 * gap) / DT


def frames_of(normals):
    """Axes (t1, t2, n) as rows, one frame per normal."""
    helper = np.where(np.abs(normals[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    t1 = np.cross(helper, normals)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    return np.stack((t1, np.cross(normals, t1), normals), axis=1)


def in_frames(frames, vectors):
    return np.einsum("kij,kj->ki", frames, vectors)


def free_traces(scene, poses, bodies, points):
    """tr W_ii of contacts at `points` (m, 3) between `bodies` (m, 2) that are all free, -1 for what stands still: per body
    3 / m + sum_k (|r|^2 - r_k^2) / I_k, r from the centre of mass in the axes of the body."""
    from peer_referee import rotate

    total = np.zeros(len(points))
    mass = np.array([b["mass"] for b in scene["bodies"]])
    com, inertia = (np.array([b[key] for b in scene["bodies"]]) for key in ("com", "inertia"))
    for side in bodies.T:
        on = side >= 0
        b = side[on]
        back = poses[b, 3:] * np.array([1.0, -1.0, -1.0, -1.0])
        r = rotate(back, points[on] - poses[b, :3]) - com[b]
        total[on] += 3.0 / mass[b] + np.sum((np.sum(r * r, axis=1, keepdims=True) - r * r) / inertia[b], axis=1)
    return total


class Touching:
    """Contacts of one step of an engine that tells forces: impulses on the second body and its velocities against the first at
    the contact, in the world, normals from the first to the second, gaps; which bodies (-1: static), where."""

    def __init__(self, scene, poses, bodies, points, normals, impulses, velocities, gaps):
        self.scene, self.poses = scene, poses
        self.bodies, self.points, self.gaps = (np.asarray(x) for x in (bodies, points, gaps))
        frames = frames_of(np.asarray(normals)) if len(self.gaps) else np.zeros((0, 3, 3))
        self.impulse, self.velocity = (in_frames(frames, np.asarray(x).reshape(-1, 3)) for x in (impulses, velocities))
        self.mu = np.full(len(self.gaps), scene["mu"])

    def residuals(self):
        found = {"contacts": len(self.mu), "e0": residual(self.impulse, self.velocity, bias_e0(self.gaps), self.mu),
                 "erp2": residual(self.impulse, self.velocity, bias_erp2(self.gaps), self.mu)}
        if len(self.mu) and all(b["joint"] == "free" for b in self.scene["bodies"]):
            trace = free_traces(self.scene, self.poses, self.bodies, self.points)
            found["scaled"] = scaled_residual(self.impulse, self.velocity, bias_e0(self.gaps), self.mu, trace)
        return found
