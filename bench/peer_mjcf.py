"""A scene of peer_scenes.py as MJCF: what MuJoCo runs and Almond loads, and, with every body free, what the referee looks at."""

from peer_scenes import DT, G


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def geom_text(geom):
    kind, size, pos, quat = geom
    size = size if kind != "plane" else (0.0, 0.0, 1.0)  # without end
    return f'<geom type="{kind}" size="{numbers(size)}" pos="{numbers(pos)}" quat="{numbers(quat)}"/>'


def inertial_text(body):
    return f'<inertial pos="{numbers(body["com"])}" mass="{body["mass"]!r}" diaginertia="{numbers(body["inertia"])}"/>'


def joint_text(body):
    if body["joint"] == "free":
        return "<freejoint/>"
    return (f'<joint name="{body["name"]}" type="{body["joint"]}" axis="{numbers(body["axis"])}" stiffness="{body["stiffness"]!r}" '
            f'damping="{body["damping"]!r}" springref="{body["rest"]!r}"/>')


def body_text(body, children):
    inside = "".join(body_text(child, children) for child in children.get(body["name"], []))
    geoms = "".join(map(geom_text, body["geoms"]))
    return (f'<body name="{body["name"]}" pos="{numbers(body["pos"])}" quat="{numbers(body["quat"])}">{joint_text(body)}'
            f"{inertial_text(body)}{geoms}{inside}</body>\n")


def depth_first(scene):
    """Bodies in the order in which MuJoCo numbers them."""
    children = {}
    for body in scene["bodies"]:
        children.setdefault(body["parent"], []).append(body)

    def visit(body):
        yield body
        for child in children.get(body["name"], []):
            yield from visit(child)

    return [found for root in children.get(None, []) for found in visit(root)], children


def memory_text(scene):
    return "64M" if len(scene["bodies"]) < 500 else f"{len(scene['bodies']) // 4 + 500}M"


def to_mjcf(scene, option="", geom_default=""):
    """`option` and `geom_default` are attributes of <option> and of <default><geom>: the engine's settings."""
    ordered, children = depth_first(scene)
    pushed = [b for b in ordered if b["push"]]
    qpos, qvel = [], []
    for b in ordered:
        qpos += [*b["pos"], *b["quat"]] if b["joint"] == "free" else [b["start"]]
        qvel += [*b["velocity"], 0.0, 0.0, 0.0] if b["joint"] == "free" else [0.0]
    motors = "".join(f'<motor name="push_{b["name"]}" joint="{b["name"]}"/>' for b in pushed)
    return (f'<mujoco model="{scene["name"]}">\n<compiler angle="radian"/>\n<size memory="{memory_text(scene)}"/>\n'
            f'<option timestep="{DT!r}" gravity="0 0 {-G!r}" cone="elliptic" {option}/>\n'
            f'<default><geom friction="{scene["mu"]!r} 0 0" condim="3" {geom_default}/></default>\n<worldbody>\n'
            + "".join(geom_text(g) + "\n" for g in scene["static"])
            + "".join(body_text(root, children) for root in children.get(None, []))
            + f"</worldbody>\n<actuator>{motors}</actuator>\n"
            f'<keyframe><key name="start" qpos="{numbers(qpos)}" qvel="{numbers(qvel)}" '
            f'ctrl="{numbers(b["push"] for b in pushed)}"/></keyframe>\n</mujoco>\n')


def to_referee_mjcf(scene, margin=0.0):
    """Every body on its own, so that the poses of any engine can be put in; pairs joined by a joint do not touch."""
    bodies = "".join(f'<body name="{b["name"]}"><freejoint/>{inertial_text(b)}{"".join(map(geom_text, b["geoms"]))}</body>\n'
                     for b in scene["bodies"])
    apart = "".join(f'<exclude body1="{b["parent"]}" body2="{b["name"]}"/>' for b in scene["bodies"] if b["parent"])
    return (f'<mujoco model="{scene["name"]} referee">\n<size memory="{memory_text(scene)}"/>\n'
            f'<default><geom friction="{scene["mu"]!r} 0 0" margin="{margin!r}" gap="{margin!r}"/></default>\n<worldbody>\n'
            + "".join(geom_text(g) + "\n" for g in scene["static"]) + bodies + f"</worldbody>\n<contact>{apart}</contact>\n</mujoco>\n")
