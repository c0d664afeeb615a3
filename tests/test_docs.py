"""The documentation against the tree: the README's examples are the tested ones, links lead somewhere, every solver is named."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def code_lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_readme_examples_are_the_tested_ones():
    examples = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    files = [  # all built and run
        "examples/tower/tower.cpp",
        "tests/model/test_readme_errors.cpp",
        "examples/robot/robot.cpp",
        "tests/solver/test_readme_example.cpp",
    ]
    assert len(examples) == len(files)
    for example, file in zip(examples, files):
        tested = code_lines((ROOT / file).read_text(encoding="utf-8"))
        missing = [line for line in code_lines(example) if line not in tested]
        assert code_lines(example) and missing == [], file


def test_relative_links_lead_to_files():
    broken = []
    for doc in DOCS:
        text = re.sub(r"^```.*?^```$", "", doc.read_text(encoding="utf-8"), flags=re.M | re.S)  # C++ has lambdas [](...)
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            if "://" not in target and not (doc.parent / target).exists():
                broken.append(f"{doc.relative_to(ROOT)}: {target}")
    assert DOCS and broken == []


def test_every_drawn_picture_has_its_command():
    commands = {}
    for doc in DOCS:
        for command in re.findall(r"build/almond [^`\n]*--png docs/images/[^`\s]+", doc.read_text(encoding="utf-8")):
            name = command.split("/")[-1]
            assert commands.setdefault(name, command) == command, f"{name} has two commands"
    # Curves and pictures of the benchmarks: tools/reproduction_page.py makes those of the paper.
    drawn = {path.name for path in (ROOT / "docs/images").iterdir()} - {"residuals.png"}
    paper = {name for name in drawn if name.startswith("paper_")}
    assert paper == set(re.findall(r"images/(paper_[^)]+)", (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")))
    pictures = drawn - paper
    assert set(commands) == pictures and len(pictures) >= 9
    gallery = (ROOT / "README.md").read_text(encoding="utf-8").split("## Gallery")[1].split("\n## ")[0]
    for row, below in re.findall(r"(\| !\[.*)\n(.*)", gallery):
        assert re.findall(r"docs/images/(\S+?)\)", row) == re.findall(r"--png docs/images/([^`]+)`", below)


def test_readme_names_every_solver():
    header = (ROOT / "src/almond/solver/result.hpp").read_text(encoding="utf-8")
    names = re.search(r"Names as on the command line: (.*?)\.", header).group(1).split(", ")
    count = int(re.search(r"kNumSolverKinds = (\d+)", header).group(1))
    table = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(names) == count and table == names
