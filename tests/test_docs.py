"""The documentation against the tree: the README's example is the tested one, links lead somewhere, every solver is named."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def code_lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_readme_example_is_the_tested_one():
    example = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S).group(1)
    tested = code_lines((ROOT / "tests/solver/test_readme_example.cpp").read_text(encoding="utf-8"))
    missing = [line for line in code_lines(example) if line not in tested]
    assert code_lines(example) and missing == []


def test_relative_links_lead_to_files():
    broken = []
    for doc in DOCS:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", doc.read_text(encoding="utf-8")):
            if "://" not in target and not (doc.parent / target).exists():
                broken.append(f"{doc.relative_to(ROOT)}: {target}")
    assert DOCS and broken == []


def test_readme_names_every_solver():
    header = (ROOT / "src/almond/solver/result.hpp").read_text(encoding="utf-8")
    names = re.search(r"Names as on the command line: (.*?)\.", header).group(1).split(", ")
    count = int(re.search(r"kNumSolverKinds = (\d+)", header).group(1))
    table = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(names) == count and table == names
