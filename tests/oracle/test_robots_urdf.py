"""The URDF robots of the package example-robot-data, read by us and by the library Pinocchio: masses, degrees of freedom,
limits, poses, mass matrices and forces agree to 1e-9, on a fixed and on a floating base; a free motion of 1 s converges to
Pinocchio's with the order of the integrator."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pin = pytest.importorskip("pinocchio")
pytest.importorskip("scipy")

from robots import TOLERANCE, ask, check_motion, free_motion, needs_probe  # noqa: E402
from peers_robots import UrdfTwin, compare, motion_errors  # noqa: E402


def find_robots():
    for folder in map(Path, sys.path):
        robots = folder / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if robots.is_dir():
            return robots
    return None


ROBOTS = find_robots()
FILES = sorted(str(f.relative_to(ROBOTS)) for f in ROBOTS.rglob("*.urdf")) if ROBOTS else []
pytestmark = [needs_probe, pytest.mark.skipif(not FILES, reason="the package example-robot-data is not installed")]

BASES = ["fixed", "floating"]
SEEDS = [1, 2]
NO_ROBOT = {"ur_description/urdf/ur3.urdf": "no links"}  # an empty <robot>, which Pinocchio refuses too


@pytest.fixture(scope="module")
def robots():
    requests = [{"file": str(ROBOTS / file), "base": base, "seeds": SEEDS} for file in FILES for base in BASES]
    answers = iter(ask(requests, timeout=120))
    return {(file, base): next(answers) for file in FILES for base in BASES}


def read_xml(file):
    return ElementTree.parse(ROBOTS / file).getroot()


@pytest.fixture(params=[file for file in FILES if file not in NO_ROBOT])
def file(request):
    return request.param


@pytest.fixture(params=BASES)
def base(request):
    return request.param


@pytest.fixture
def twin(robots, file, base):
    answer = robots[file, base]
    assert "error" not in answer, answer["error"]
    return UrdfTwin(answer)


def test_masses_joints_and_limits(twin, file):
    robot, xml = twin.robot, read_xml(file)
    mass = sum(float(m.get("value")) for m in xml.findall("link/inertial/mass"))
    assert robot["mass"] == pytest.approx(mass, rel=1e-12)
    assert twin.differences() == []
    assert {body["joint"] for body in twin.moving} | twin.welded() == set(twin.model.names[1:])

    limits = {joint.get("name"): joint.find("limit") for joint in xml.findall("joint")}
    for motor in robot["motors"]:
        limit = limits[motor["joint"]]
        if limit is None:
            assert (motor["effort"], motor["velocity"]) == (1e300, 1e300)
        else:
            assert (motor["effort"], motor["velocity"]) == (float(limit.get("effort")), float(limit.get("velocity")))


def test_poses_and_dynamics(twin):
    for state in twin.answer["states"]:
        errors = twin.errors(state)
        assert max(errors.values()) < TOLERANCE, errors


# Its links are point masses, so the mass matrix is singular where one comes to lie on its axis: 6 ms from the start the neck turns at
# 1e7 rad/s in Pinocchio, too.
NOT_FOLLOWED = {"icub_description/robots/icub.urdf"}


def test_free_motion(file):
    motion = free_motion(1.0)
    answer = ask([{"file": str(ROBOTS / file), "base": "floating", "motion": motion}])[0]
    twin = UrdfTwin(answer)
    if file in NOT_FOLLOWED:
        with pytest.raises(RuntimeError, match="cannot be followed"):
            motion_errors(twin, answer["motion"])
    elif answer["model"]["num_v"] > 0:
        check_motion(motion_errors(twin, answer["motion"]))


@pytest.mark.parametrize("file", sorted(NO_ROBOT))
def test_no_robot(robots, file):
    assert NO_ROBOT[file] in robots[file, "fixed"]["error"]
    assert "refused" in compare(robots[file, "fixed"])
    with pytest.raises(Exception):
        pin.buildModelFromUrdf(str(ROBOTS / file))


def test_closures_follow_the_mimics(robots):
    count = 0
    for file in FILES:
        if file in NO_ROBOT:
            continue
        robot = robots[file, "fixed"]["model"]
        moving = {body["joint"] for body in robot["bodies"] if body["kind"] != "fixed"}
        expected = {}
        for joint in read_xml(file).findall("joint"):
            mimic = joint.find("mimic")
            if mimic is not None and {joint.get("name"), mimic.get("joint")} <= moving:
                expected[joint.get("name")] = (
                    mimic.get("joint"),
                    float(mimic.get("multiplier", 1.0)),
                    float(mimic.get("offset", 0.0)),
                )
        got = {c["a"]: (c["b"], c["ratio"], c["offset"]) for c in robot["closures"]}
        assert got == expected, file
        count += len(got)
    assert count > 20
