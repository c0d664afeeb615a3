"""Puts the licences of what a wheel contains into it: python tools/wheel_licenses.py WHEEL

Those of shared libraries that auditwheel added, and of what is compiled in, as Debian's packages have them (so they are of the
very version that was built with), and those of nanobind and the web page. Ends with an error where one cannot be found."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

from auditwheel.wheeltools import InWheel

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Compiled into the module, by Debian's package.
COMPILED = {
    "Eigen": "libeigen3-dev",
    "nlohmann-json": "nlohmann-json3-dev",
    "CLI11": "libcli11-dev",
    "cpp-httplib": "libcpp-httplib-dev",
    "HDF5": "libhdf5-dev",
    "libaec": "libaec-dev",
}
# Texts that packages only point to. The others (GPL, LGPL) are of build scripts and packaging, or one of a choice.
COMMON = re.compile(r"/usr/share/common-licenses/((?:Apache|MPL)-[0-9.]+[0-9])")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def copyright_of(package):
    file = pathlib.Path("/usr/share/doc", package, "copyright")
    if not file.exists():
        sys.exit(f"tools/wheel_licenses.py: {file} is not there, expected the licence of {package}")
    text = file.read_text(encoding="utf-8")
    for name in sorted(set(COMMON.findall(text))):
        text += f"\n\n---- {name}\n\n" + pathlib.Path("/usr/share/common-licenses", name).read_text(encoding="utf-8")
    return text


def package_of(library):
    """auditwheel's names are those of the system with a hash in them."""
    name = re.sub(r"-[0-9a-f]{8}(?=[.-])", "", library)
    for path in re.findall(r"=> (\S+)$", run("/sbin/ldconfig", "-p"), re.M):
        real = str(pathlib.Path(path).resolve())
        if name not in (pathlib.Path(path).name, pathlib.Path(real).name):
            continue
        for known in (real, real.removeprefix("/usr"), path, path.removeprefix("/usr")):
            if owner := run("dpkg", "-S", known):
                return owner.split(":")[0]
    sys.exit(f"tools/wheel_licenses.py: {library}: no package of dpkg has {name}, expected one with its licence")


def nanobind():
    text = next(f for f in importlib.metadata.files("nanobind") if f.name == "LICENSE").read_text()
    robin_map = next(f for f in importlib.metadata.files("nanobind") if f.name == "robin_map.h").read_text()
    return text + "\n\n---- robin-map\n\n" + robin_map[robin_map.index("/**") + 3 : robin_map.index("*/")].replace("\n * ", "\n")


def main(wheel):
    with InWheel(wheel, wheel) as folder:  # writes RECORD again
        (info,) = pathlib.Path(folder).glob("*.dist-info")
        texts = {name: copyright_of(package) for name, package in COMPILED.items()}
        for library in sorted(path.name for path in pathlib.Path(folder).glob("*.libs/*")):
            texts[re.split(r"-[0-9a-f]{8}|\.so", library)[0]] = copyright_of(package_of(library))
        texts["nanobind"] = nanobind()
        texts["three.js"] = (ROOT / "viewer/node_modules/three/LICENSE").read_text(encoding="utf-8")
        to = info / "licenses/third-party"
        to.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (to / f"{name}.txt").write_text(text, encoding="utf-8")
        metadata = info / "METADATA"
        head, body = metadata.read_text(encoding="utf-8").split("\n\n", 1)
        files = "".join(f"\nLicense-File: third-party/{name}.txt" for name in sorted(texts))
        metadata.write_text(head + files + "\n\n" + body, encoding="utf-8")


main(pathlib.Path(sys.argv[1]))
