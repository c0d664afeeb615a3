"""Almond: exact Signorini-Coulomb contact for robots.

    import almond
    sim = almond.load("tower")          # a scene by name, or a URDF, MJCF or scene file
    sim.step(240)                       # one second
    print(sim.report)                   # how exactly the last step obeys the law

    almond.solve(A, b, J, e, mu)        # the solver alone: matrices in, impulses out
"""

from . import _core
from ._core import (
    Batch,
    Box,
    Capsule,
    Certificate,
    Cone,
    ContactProblem,
    Cylinder,
    Ellipsoid,
    HeightField,
    Hull,
    Mesh,
    Model,
    ModelBuilder,
    Plane,
    Shape,
    Simulation,
    Solution,
    Sphere,
    StepReport,
    Workspace,
    __version__,
)
from ._load import Sdf, load, scenes, simulate
from ._rollout import rollout
from ._shards import Rollouts
from ._solve import solve, solvers

__all__ = [
    "Batch",
    "Box",
    "Capsule",
    "Certificate",
    "Cone",
    "ContactProblem",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "Hull",
    "Mesh",
    "Model",
    "ModelBuilder",
    "Plane",
    "Rollouts",
    "Sdf",
    "Shape",
    "Simulation",
    "Solution",
    "Sphere",
    "StepReport",
    "Workspace",
    "__version__",
    "load",
    "rollout",
    "scenes",
    "simulate",
    "solve",
    "solvers",
]
