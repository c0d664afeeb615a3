"""Almond: exact Signorini-Coulomb contact for robots.

    import almond
    sim = almond.load("tower")          # a scene by name, or a URDF, MJCF or scene file
    sim.step(240)                       # one second
    print(sim.report)                   # how exactly the last step obeys the law

    almond.solve(A, b, J, e, mu)        # the solver alone: matrices in, impulses out
"""

from typing import TYPE_CHECKING

from . import _cpu

_cpu.choose_core(__name__)

from . import _core, _errors  # noqa: E402

_errors.explain_refusals()  # before anything else takes what the compiled part offers

from ._core import (  # noqa: E402
    Batch,
    Box,
    Capsule,
    Certificate,
    Cone,
    ContactProblem,
    Cylinder,
    Ellipsoid,
    Error,
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
from ._errors import FileWarning  # noqa: E402
from ._load import Sdf, load, scenes, simulate  # noqa: E402
from ._solve import solve, solvers  # noqa: E402

__all__ = [
    "Batch",
    "Box",
    "Capsule",
    "Certificate",
    "Cone",
    "ContactProblem",
    "Cylinder",
    "Ellipsoid",
    "Error",
    "FileWarning",
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

if TYPE_CHECKING:
    from ._rollout import rollout
    from ._shards import Rollouts


def __dir__():
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})


def __getattr__(name):
    """Rollouts need NumPy's random numbers, which take longer to load than all the rest: when somebody asks."""
    if name == "rollout":
        from ._rollout import rollout

        return rollout
    if name == "Rollouts":
        from ._shards import Rollouts

        return Rollouts
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
