#!/usr/bin/env python3
"""Checks who includes whom.

Every folder may include itself and the folders named in ALLOWED, nothing else; headers of third-party libraries other than
Eigen stay in .cpp files, so that a user of our headers needs Eigen only.

    tests/check_layers.py              checks itself and the tree, prints the offending lines, exit 1 if there are any
    tests/check_layers.py --self-test  checks itself only, on made-up files
"""

import re
import sys
import tempfile
from pathlib import Path

# Folder -> folders it may include. The edges are those of docs/architecture.md and must stay free of cycles.
ALLOWED = {
    "base": set(),
    "solver": {"base"},
    "c": {"base", "solver"},
    "model": {"base"},
    "load": {"base", "solver", "model"},
    "dynamics": {"base", "model"},
    "collision": {"base", "model"},
    "sim": {"base", "model", "dynamics", "collision", "solver"},
    "task": {"base", "model", "dynamics", "collision", "solver", "sim"},
    "view": {"base", "solver", "model", "load", "dynamics", "collision", "sim"},
    "scenes": {"base", "solver", "model", "load", "dynamics", "collision", "sim", "task"},
    "bench": {"base", "solver", "model", "load", "dynamics", "collision", "sim", "task", "view", "scenes"},
}
ALLOWED["apps"] = set(ALLOWED)
ALLOWED["tests"] = set(ALLOWED)

# Third-party headers -> folders whose .cpp files may include them.
THIRD_PARTY = {
    "hdf5": {"load", "tests"},
    "zlib": {"load", "view", "tests"},
    "urdf_parser": {"load"},
    "urdf_model": {"load"},
    "console_bridge": {"load"},
    "httplib": {"view"},
    "libqhull_r": {"model"},
    "mujoco": {"load", "tests"},
    "nlohmann": {"load", "view", "bench", "apps", "tests"},
    "CLI": {"apps", "tests"},
    "gtest": {"tests"},
    "gmock": {"tests"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def folder_of(path: Path) -> str:
    """src/almond/solver/baselines/x.cpp -> solver; scenes/x.hpp -> scenes."""
    parts = path.parts
    return parts[2] if parts[:2] == ("src", "almond") and len(parts) > 3 else parts[0]


def target_of(include: str):
    """The folder of ours that an include names, or None: "almond/solver/x.hpp" -> solver, "bench/x.hpp" -> bench."""
    parts = include.split("/")
    if parts[0] == "almond" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ALLOWED and len(parts) > 1 else None


def third_party_of(include: str):
    head = re.sub(r"\.h(pp)?$", "", include.split("/")[0])
    return head if head in THIRD_PARTY else None


def check_line(path: Path, line: str):
    """What is wrong with one line of a file, or None."""
    match = INCLUDE.match(line)
    if not match:
        return None
    include = match.group(1) or match.group(2)
    folder = folder_of(path)
    if folder not in ALLOWED:
        return f"folder '{folder}' has no place in the layers; add it to ALLOWED"
    target = target_of(include)
    if target is not None:
        if target not in ALLOWED:
            return f"'{include}' names folder '{target}', which does not exist"
        if target != folder and target not in ALLOWED[folder]:
            allowed = ", ".join(sorted(ALLOWED[folder])) or "nothing"
            return f"{folder} must not include {target} (allowed: {allowed})"
        return None
    party = third_party_of(include)
    if party is not None:
        if path.suffix != ".cpp" and folder != "tests":
            return f"third-party header '{include}' in a header; only .cpp files may include it"
        if folder not in THIRD_PARTY[party]:
            return f"third-party header '{include}' in {folder} (allowed: {', '.join(sorted(THIRD_PARTY[party]))})"
    if match.group(1) and "/" not in include:
        return f"'{include}' is relative; write the path from the include root"
    return None


def check_tree(root: Path):
    problems = []
    folders = [root / "src", *(root / name for name in ("scenes", "bench", "apps", "tests"))]
    files = [f for folder in folders for f in folder.rglob("*") if f.suffix in (".hpp", ".cpp", ".h")]
    for file in sorted(files):
        path = file.relative_to(root)
        if path.name not in ("almond.hpp", "c_api.h") or len(path.parts) != 3:  # the umbrella header includes what it likes
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                problem = check_line(path, line)
                if problem:
                    problems.append(f"{path}:{number}: {problem}")
    return problems, len(files)


def find_cycle():
    """A folder that reaches itself over ALLOWED, or None."""
    def reach(folder, seen):
        for target in ALLOWED[folder] - seen:
            seen.add(target)
            reach(target, seen)
        return seen

    return next((folder for folder in ALLOWED if folder in reach(folder, set())), None)


def self_test():
    cases = [  # file, line, part of the expected complaint or None
        ("src/almond/solver/canal.cpp", '#include "almond/solver/cone.hpp"', None),
        ("src/almond/solver/canal.cpp", '#include "almond/base/types.hpp"', None),
        ("src/almond/solver/baselines/dogleg.cpp", '#include "almond/solver/cone.hpp"', None),
        ("src/almond/base/types.hpp", "#include <Eigen/Core>", None),
        ("src/almond/base/tree.hpp", '#include "almond/solver/problem.hpp"', "base must not include solver"),
        ("src/almond/solver/solve.cpp", '#include "almond/load/npz.hpp"', "solver must not include load"),
        ("src/almond/solver/solve.cpp", '  #  include "almond/model/model.hpp"', "solver must not include model"),
        ("src/almond/solver/baselines/dogleg.cpp", '#include "almond/load/npz.hpp"', "solver must not include load"),
        ("src/almond/load/npz.cpp", '#include "almond/solver/problem.hpp"', None),
        ("src/almond/load/npz.cpp", '#include "scenes/towers.hpp"', "load must not include scenes"),
        ("src/almond/collision/pairs.cpp", '#include "almond/dynamics/state.hpp"', "collision must not include dynamics"),
        ("src/almond/sim/step.cpp", '#include "almond/solver/solve.hpp"', None),
        ("scenes/towers.cpp", '#include "almond/solver/problem.hpp"', None),
        ("scenes/towers.cpp", '#include "bench/report.hpp"', "scenes must not include bench"),
        ("bench/report.cpp", '#include "scenes/towers.hpp"', None),
        ("apps/almond.cpp", '#include "bench/report.hpp"', None),
        ("tests/solver/test_canal.cpp", '#include "tests/common/random.hpp"', None),
        ("bench/report.cpp", '#include "tests/common/random.hpp"', "bench must not include tests"),
        ("src/almond/load/fclib.cpp", "#include <hdf5.h>", None),
        ("src/almond/load/fclib.hpp", "#include <hdf5.h>", "only .cpp files"),
        ("src/almond/load/json.hpp", "#include <nlohmann/json.hpp>", "only .cpp files"),
        ("src/almond/solver/solve.cpp", "#include <nlohmann/json.hpp>", "in solver (allowed"),
        ("src/almond/load/urdf_parse.cpp", "#include <urdf_parser/urdf_parser.h>", None),
        ("src/almond/load/urdf.hpp", "#include <urdf_model/model.h>", "only .cpp files"),
        ("apps/almond.cpp", "#include <CLI/CLI.hpp>", None),
        ("bench/report.cpp", "#include <CLI/CLI.hpp>", "in bench (allowed"),
        ("src/almond/load/npz.cpp", "#include <zlib.h>", None),
        ("src/almond/solver/solve.cpp", '#include "cone.hpp"', "is relative"),
        ("src/almond/solver/solve.cpp", '#include "almond/typo/x.hpp"', "does not exist"),
        ("src/almond/extra/x.cpp", '#include "almond/base/types.hpp"', "no place in the layers"),
        ("src/almond/solver/solve.cpp", '// #include "almond/load/npz.hpp" would be wrong here', None),
    ]
    failures = []
    for name, line, expected in cases:
        got = check_line(Path(name), line)
        if (got is None) != (expected is None) or (expected and expected not in got):
            failures.append(f"{name}: {line}: expected {expected!r}, got {got!r}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        bad = root / "src/almond/base/a.hpp"
        bad.parent.mkdir(parents=True)
        bad.write_text('#pragma once\n#include "almond/solver/b.hpp"\n', encoding="utf-8")
        problems, count = check_tree(root)
        if count != 1 or len(problems) != 1 or not problems[0].startswith("src/almond/base/a.hpp:2: "):
            failures.append(f"made-up tree: {count} files, {problems}")
    if find_cycle() is not None:
        failures.append(f"ALLOWED has a cycle through {find_cycle()}")
    return failures


def main():
    failures = self_test()
    if sys.argv[1:] == ["--self-test"]:
        problems, summary = failures, "layer check: self-test passed"
    else:
        problems, count = check_tree(Path(__file__).resolve().parent.parent)
        problems += failures
        summary = f"layers: {count} files, every include allowed"
    print("\n".join(problems) if problems else summary)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
