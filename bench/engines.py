"""Which physics engines are installed: a JSON object {engine: version or null} into the file named first."""

import importlib
import importlib.metadata
import json
import shutil
import subprocess
import sys


def of_package(module, *packages):
    try:
        found = importlib.import_module(module)
    except Exception:  # an engine that does not load is not there
        return None
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return str(getattr(found, "__version__", "installed"))


def of_pkg_config(name):
    program = shutil.which("pkg-config")
    if program is None:
        return None
    result = subprocess.run([program, "--modversion", name], capture_output=True, text=True, check=False)
    return result.stdout.strip() or None


def main():
    versions = {
        "Bullet": of_package("pybullet", "pybullet") or of_pkg_config("bullet"),
        "MuJoCo": of_package("mujoco", "mujoco"),
        "DART": of_package("dartpy", "dartpy") or of_pkg_config("dart"),
        "PhysX": of_package("physx", "physx"),
        "Drake": of_package("pydrake", "drake"),
        "ODE": of_package("ode", "pyode", "ode") or of_pkg_config("ode"),
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(versions, file)


if __name__ == "__main__":
    main()
