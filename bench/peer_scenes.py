"""Scenes as plain data, the same for every engine: bodies of primitive shapes, joints, springs, pushes, and where it all starts.

A scene is a dict: name, part (the table it stands in), kind (how it is judged), steps, settle (cold cases: steps before the wrenches),
mu, gravity, static geoms, bodies. A body is a dict: name, parent (or None), pos and quat (w x y z, in the parent), joint (free, hinge or
slide) with axis, stiffness, damping, rest, start, push; mass, com, inertia (diagonal, about com), geoms, velocity (world, m/s).
A geom is (kind, size, pos, quat): box (half edges), sphere (radius), plane. SI units.
"""

import math
import random

DT = 1.0 / 240.0
G = 9.81
NO_TURN = (1.0, 0.0, 0.0, 0.0)
ORIGIN = (0.0, 0.0, 0.0)
CUBE = 0.05  # half edge [m]


def turn(axis, angle):
    s = math.sin(0.5 * angle)
    return (math.cos(0.5 * angle), axis[0] * s, axis[1] * s, axis[2] * s)


def times(a, b):
    """Product of two quaternions."""
    (aw, ax, ay, az), (bw, bx, by, bz) = a, b
    return (aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw)


def rotate(q, v):
    return times(times(q, (0.0, *v)), (q[0], -q[1], -q[2], -q[3]))[1:]


def geom(kind, size, pos=ORIGIN, quat=NO_TURN):
    return (kind, tuple(size), tuple(pos), tuple(quat))


def body(name, mass, inertia, geoms, pos=ORIGIN, quat=NO_TURN, parent=None, joint="free", **more):
    made = {"name": name, "parent": parent, "pos": tuple(pos), "quat": tuple(quat), "joint": joint, "axis": (1.0, 0.0, 0.0),
            "stiffness": 0.0, "damping": 0.0, "rest": 0.0, "start": 0.0, "push": 0.0, "mass": mass, "com": ORIGIN,
            "inertia": tuple(inertia), "geoms": geoms, "velocity": ORIGIN}
    unknown = set(more) - set(made)
    if unknown:
        raise ValueError(f"body {name}: no field {sorted(unknown)[0]}")
    made.update(more)
    return made


def scene(name, part, kind, seconds, mu, bodies, static=None, **more):
    made = {"name": name, "part": part, "kind": kind, "steps": round(seconds / DT), "settle": round(1.0 / DT), "mu": mu,
            "static": [geom("plane", ())] if static is None else static, "bodies": bodies, "wrench": (5.0, 0.2)}
    made.update(more)
    return made


def box_inertia(mass, half):
    x, y, z = (mass / 3.0 * h * h for h in half)
    return (y + z, x + z, x + y)


def box(name, mass, half, pos, quat=NO_TURN, **more):
    return body(name, mass, box_inertia(mass, half), [geom("box", half)], pos, quat, **more)


def ball(name, mass, radius, pos, **more):
    return body(name, mass, (0.4 * mass * radius * radius,) * 3, [geom("sphere", (radius,))], pos, **more)


def stack(count):
    """Cubes of 0.1 kg, the last one of 5 kg."""
    cubes = [box(f"cube{i}" if i < count - 1 else "top", 0.1 if i < count - 1 else 5.0, (CUBE,) * 3, (0.0, 0.0, (2 * i + 1) * CUBE))
             for i in range(count)]
    return scene(f"stack{count}", "stacks", "stack", 3.0, 0.6, cubes)


def dish_part(name, mass, radius, height, lean, z):
    """A floor and a ring of twelve walls that lean outwards."""
    walls, thick = 12, 0.004
    geoms = [geom("box", (0.7 * radius, 0.7 * radius, thick), (0.0, 0.0, thick))]
    for i in range(walls):
        around = turn((0, 0, 1), 2.0 * math.pi * i / walls)
        at = rotate(around, (radius + 0.5 * height * math.tan(lean), 0.0, 0.5 * height + thick))
        geoms.append(geom("box", (thick, radius * math.tan(math.pi / walls), 0.5 * height), at, times(around, turn((0, 1, 0), lean))))
    across = mass * (0.3 * radius**2 + height**2 / 12.0)
    return body(name, mass, (across, across, 0.6 * mass * radius**2), geoms, (0.0, 0.0, z), com=(0.0, 0.0, 0.4 * height))


def dish():
    dishes = [dish_part("bowl1", 0.1, 0.06, 0.05, 0.5, 1e-4), dish_part("bowl2", 0.1, 0.06, 0.05, 0.5, 0.030),
              dish_part("plate", 0.1, 0.10, 0.02, 0.8, 0.095), dish_part("pot", 5.0, 0.09, 0.10, 0.05, 0.106)]
    return scene("dish", "stacks", "pile", 3.0, 0.6, dishes)


def spheres(count, seconds=2.0):
    """Balls of 5 mm radius and 10 g/cm3 on a loose grid in an open box about as wide as the heap is high."""
    rng = random.Random(count)
    radius, wall = 0.005, 0.01
    mass = 1e4 * 4.0 / 3.0 * math.pi * radius**3
    side = max(3, round(count ** (1.0 / 3.0)))
    pitch = 2.2 * radius
    half = 0.5 * side * pitch + 0.1 * radius
    height = 0.5 * math.ceil(count / side**2) * pitch + 2.0 * wall
    static = [geom("plane", ())]
    for s in (-1, 1):
        static.append(geom("box", (wall, half + 2.0 * wall, height), (s * (half + wall), 0.0, height)))
        static.append(geom("box", (half + 2.0 * wall, wall, height), (0.0, s * (half + wall), height)))
    balls = []
    for i in range(count):
        layer, row, column = i // side**2, i // side % side, i % side
        shake = [0.05 * radius * rng.uniform(-1.0, 1.0) for _ in range(2)]
        balls.append(ball(f"ball{i}", mass, radius, ((column - 0.5 * (side - 1)) * pitch + shake[0],
                                                     (row - 0.5 * (side - 1)) * pitch + shake[1], radius + 1e-4 + layer * pitch)))
    return scene(f"spheres{count}", "spheres", "balls", seconds, 0.5, balls, static, wrench=(0.05, 0.0), settle=round(1.5 / DT))


def quadruped(name, pos, quat, rng):
    """18 degrees of freedom, 25 kg: a trunk and four limp legs of hip, thigh, calf and a round foot."""
    limb = 0.25
    parts = [box(f"{name}_trunk", 13.7, (0.28, 0.09, 0.08), pos, quat)]
    for x, y in ((0.22, 0.09), (0.22, -0.09), (-0.22, 0.09), (-0.22, -0.09)):
        side = 1.0 if y > 0.0 else -1.0
        tag = f"{name}_{'front' if x > 0.0 else 'rear'}_{'left' if side > 0.0 else 'right'}"
        limp = {"joint": "hinge", "stiffness": 5.0, "damping": 0.3}
        parts.append(body(f"{tag}_hip", 1.1, box_inertia(1.1, (0.04,) * 3), [], (x, y, 0.0), parent=f"{name}_trunk",
                          com=(0.0, 0.03 * side, 0.0), **limp))
        for part, parent, mass, half, at, rest in (
                ("thigh", "hip", 1.5, (0.02, 0.015, 0.5 * limb), (0.0, 0.06 * side, 0.0), 0.6),
                ("calf", "thigh", 0.25, (0.01, 0.01, 0.5 * limb), (0.0, 0.0, -limb), -1.2)):
            middle = (0.0, 0.0, -0.5 * limb)
            geoms = [geom("box", half, middle)] + ([geom("sphere", (0.027,), (0.0, 0.0, -limb))] if part == "calf" else [])
            parts.append(body(f"{tag}_{part}", mass, box_inertia(mass, half), geoms, at, parent=f"{tag}_{parent}", com=middle,
                              axis=(0.0, 1.0, 0.0), rest=rest, start=rest + rng.uniform(-0.1, 0.1), **limp))
    return parts


def quads(count):
    rng = random.Random(count)
    side = math.ceil(count ** (1.0 / 3.0) - 1e-9)
    parts = []
    for i in range(count):
        tilt = NO_TURN
        for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            tilt = times(tilt, turn(axis, rng.uniform(-0.2, 0.2)))
        parts += quadruped(f"robot{i}", (0.95 * (i % side), 0.6 * (i // side % side), 0.6 + 0.75 * (i // side**2)), tilt, rng)
    return scene(f"quad{count}", "quads", "robots", 2.0, 0.6, parts, settle=round(1.25 / DT))


def slope(share):
    """A cube on an incline whose slope is `share` of the friction coefficient; x points down."""
    mu = 0.5
    tilt = turn((0, 1, 0), math.atan(share * mu))
    cube = box("cube", 1.0, (CUBE,) * 3, rotate(tilt, (0.0, 0.0, CUBE)), tilt)
    return scene(f"slope{share}", "friction", "slope", 5.0, mu, [cube], [geom("plane", (), ORIGIN, tilt)], share=share)


def slide(speed=3.0):
    cube = box("cube", 1.0, (CUBE,) * 3, (0.0, 0.0, CUBE), velocity=(speed, 0.0, 0.0))
    return scene("slide", "friction", "slide", 1.5, 0.5, [cube], speed=speed)


def grip(mass, squeeze, seconds=10.0):
    """Two pads on sliders press a cube with `squeeze` times the least force that holds it."""
    mu, pad = 0.5, 0.01
    bodies = [box("cube", mass, (CUBE,) * 3, (0.0, 0.0, 0.5))]
    for side, name in ((-1.0, "left"), (1.0, "right")):
        bodies.append(box(name, 0.1, (pad, CUBE, CUBE), (side * (CUBE + pad), 0.0, 0.5), joint="slide", axis=(-side, 0.0, 0.0),
                          push=squeeze * mass * G / (2.0 * mu)))
    return scene(f"grip{mass}x{squeeze}", "grasp", "grip", seconds, mu, bodies, [])


def drop():
    return scene("drop", "ball", "drop", 1.5, 0.5, [ball("ball", 1.0, 0.05, (0.0, 0.0, 0.55))])


def roll():
    return scene("roll", "ball", "roll", 1.5, 0.5, [ball("ball", 1.0, 0.05, (0.0, 0.0, 0.05), velocity=(1.0, 0.0, 0.0))], speed=1.0)


MAKERS = {
    "stack4": lambda: stack(4), "stack10": lambda: stack(10), "dish": dish,
    "spheres45": lambda: spheres(45), "spheres200": lambda: spheres(200), "spheres1000": lambda: spheres(1000),
    "quad8": lambda: quads(8), "quad27": lambda: quads(27),
    "slope0.5": lambda: slope(0.5), "slope0.95": lambda: slope(0.95), "slope0.99": lambda: slope(0.99), "slope1.5": lambda: slope(1.5),
    "slide": slide, "grip0.2x1.1": lambda: grip(0.2, 1.1), "grip0.2x1.5": lambda: grip(0.2, 1.5), "grip2x1.5": lambda: grip(2, 1.5),
    "drop": drop, "roll": roll,
}
# Half a second of filling the box: what a step costs by the number of balls.
for _count in (100, 300, 1000, 3000, 10000):
    MAKERS[f"growth{_count}"] = lambda count=_count: {**spheres(count, 0.5), "name": f"growth{count}", "part": "growth", "kind": "growth"}


def make(name):
    if name not in MAKERS:
        raise ValueError(f"no scene {name!r}, expected one of {', '.join(MAKERS)}")
    return MAKERS[name]()


def wrenches(made, cases):
    """Random forces and torques [cases][bodies][6] on all bodies but hips and the like, which no shape stands for."""
    rng = random.Random(f"{made['name']} wrenches")
    force, torque = made["wrench"]
    return [[[rng.gauss(0.0, 1.0) * (force if k < 3 else torque) * bool(b["geoms"]) for k in range(6)] for b in made["bodies"]]
            for _ in range(cases)]
