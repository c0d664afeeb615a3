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
