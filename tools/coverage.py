#!/usr/bin/env python3
"""What the tests run: lines by folder, and functions that none of them calls, from the counters of a build with gcov.

    python3 tools/coverage.py build/coverage [--functions] [--json FILE]
"""

import argparse
import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src/", "scenes/", "bench/", "apps/")


def read_counters(gcov, counters):
    """gcov's account of one object: {files: [{file, lines, functions}]}."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([gcov, "--json-format", str(counters)], cwd=folder, capture_output=True, text=True, check=False)
        found = list(Path(folder).glob("*.gcov.json.gz"))
        if done.returncode != 0 or not found:
            sys.exit(f"{counters}: gcov failed: {done.stderr.strip()}")
        return [json.loads(gzip.decompress(path.read_bytes())) for path in found]


def own_name(path, folder):
    """The path below the root, or None for what is not ours."""
    absolute = Path(os.path.normpath(Path(folder) / path))
    if not absolute.is_relative_to(ROOT):
        return None
    name = absolute.relative_to(ROOT).as_posix()
    return name if name.startswith(FOLDERS) and not name.startswith("build") else None


def gather(build, gcov):
    """lines[file][line] and functions[file][(line, name)]: how often they ran, over all objects that hold them."""
    lines, functions = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    # Objects without counters never ran; their notes say what they hold. Those of the tests are read for the inline functions of
    # the library: of several copies the linker keeps one, often theirs.
    notes = sorted(build.rglob("*.gcno"))
    with ThreadPoolExecutor() as pool:
        for reports in pool.map(lambda note: read_counters(gcov, note), notes):
            for report in reports:
                for file in report["files"]:
                    name = own_name(file["file"], report["current_working_directory"])
                    if name is None:
                        continue
                    for line in file["lines"]:
                        lines[name][line["line_number"]] += line["count"]
                    for function in file["functions"]:
                        key = (function["start_line"], function["demangled_name"])
                        functions[name][key] += function["execution_count"]
    return lines, functions


def folder_of(name):
    return os.path.dirname(name)


def never_called(functions):
    """(file, line, name) of functions that no test calls. A template or inline function counts by its place: one copy is enough."""
    for name, counts in sorted(functions.items()):
        at_line = collections.defaultdict(int)
        for (line, _), count in counts.items():
            at_line[line] += count
        for line in sorted(line for line, count in at_line.items() if count == 0):
            yield name, line, min(f for (at, f) in counts if at == line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--functions", action="store_true", help="list the functions that never ran")
    parser.add_argument("--json", type=Path, help="write the figures")
    parser.add_argument("--gcov", default=os.environ.get("GCOV", "gcov"))
    arguments = parser.parse_args()
    if shutil.which(arguments.gcov) is None:
        sys.exit(f"{arguments.gcov}: not found; expected GCC's gcov, or GCOV=llvm-cov-gcov")
    lines, functions = gather(arguments.build.resolve(), arguments.gcov)
    if not lines:
        sys.exit(f"{arguments.build}: holds no counters; expected a build with the preset coverage")
    ran, all_ = collections.Counter(), collections.Counter()
    for name, counts in lines.items():
        all_[folder_of(name)] += len(counts)
        ran[folder_of(name)] += sum(count > 0 for count in counts.values())
    print(f"{'folder':32} {'lines':>7} {'run':>7}      %")
    for folder in sorted(all_):
        print(f"{folder:32} {all_[folder]:7} {ran[folder]:7} {100 * ran[folder] / all_[folder]:6.1f}")
    total = sum(all_.values())
    print(f"{'all':32} {total:7} {sum(ran.values()):7} {100 * sum(ran.values()) / total:6.1f}")
    missed = list(never_called(functions))
    print(f"{len(missed)} functions are never called" + (":" if arguments.functions else "; --functions lists them"))
    if arguments.functions:
        for name, line, function in missed:
            print(f"  {name}:{line}  {function}")
    if arguments.json:
        figures = {"folders": {f: {"lines": all_[f], "run": ran[f]} for f in sorted(all_)}, "never_called": missed}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
