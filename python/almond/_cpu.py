"""Which compiled module serves this CPU.

A wheel for x86-64 carries two: `almond/_core` for CPUs with AVX2 and FMA (x86-64-v3), and `almond/portable/_core` for all others. A
build of one's own has the first only, made for the machine that built it. ALMOND_CPU=portable asks for the second.
"""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

# What x86-64-v3 has beyond x86-64, as Linux names it.
NEEDED = ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")


def missing(cpuinfo):
    """What the CPU that /proc/cpuinfo describes lacks for the quick module; nothing where there is no telling."""
    for line in cpuinfo.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags":
            return [flag for flag in NEEDED if flag not in flags.split()]
    return []


def _wants_portable():
    asked = os.environ.get("ALMOND_CPU", "")
    if asked not in ("", "portable"):
        raise ImportError(f"ALMOND_CPU is {asked!r}, expected portable, or no such variable")
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        cpuinfo = ""
    return asked == "portable" or bool(missing(cpuinfo))


def choose_core(package):
    """Puts the module for other CPUs in the place of `_core` where it is needed and there."""
    there = sorted((Path(__file__).parent / "portable").glob("_core.*so"))
    if not there or not _wants_portable():
        return
    name = package + "._core"
    spec = importlib.util.spec_from_file_location(name, there[0], loader=importlib.machinery.ExtensionFileLoader(name, str(there[0])))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    sys.modules[package]._core = module
