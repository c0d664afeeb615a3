"""Fenced code blocks of the pages that people read."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass
class Block:
    page: Path
    line: int  # of its first line of code
    kind: str  # python, cpp, sh, ...; "" without one
    code: str
    not_run: str  # reason, from a comment `<!-- not run: reason -->` above it

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"(?:<!-- not run: (.*?) -->\n)?^```(\w*)[^\n]*\n(.*?)^```$", text, re.M | re.S):
        line = text.count("\n", 0, match.start(3)) + 1
        found.append(Block(page, line, match.group(2), match.group(3), match.group(1) or ""))
    assert len(found) * 2 == len(re.findall(r"^```", text, re.M)), f"{page}: a fence without an end"
    return found


def all_blocks(*kinds):
    return [block for page in PAGES for block in blocks_of(page) if block.kind in kinds]


def commands_of(page):
    """(line, words) of every command of the program `almond` on a page, in blocks and in the text; placeholders and all."""
    text = page.read_text(encoding="utf-8")
    lines = []
    for block in blocks_of(page):
        joined = re.sub(r"\n +(?=\[?--|\[)", " ", block.code)  # the usage of a command goes over several lines
        lines += [(block.line, line) for line in joined.splitlines() if block.kind in ("", "sh")]
    prose = re.sub(r"^```.*?^```$", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
    lines += [(prose.count("\n", 0, m.start()) + 1, m.group(1)) for m in re.finditer(r"`([^`\n]+)`", prose)]
    commands = []
    for line, command in lines:
        words = re.sub(r"\s#.*", "", command).split()
        if words and words[0] in ("almond", "build/almond") and len(words) > 1:
            commands.append((line, words[1:]))
    return commands
