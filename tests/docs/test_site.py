"""The site: it builds without a warning, leads nowhere wrong, asks no other host for anything, shows every formula, and its
reference has every public name of the package."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path

import pytest
from blocks import ROOT

for package in ("mkdocs", "material", "mkdocstrings_handlers.python", "latex2mathml", "nbclient", "ipykernel", "almond"):
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"{package} is not installed: the site is not built", allow_module_level=True)
import almond  # noqa: E402


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loads = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes.get("id"), attributes.get("name")} - {None}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        for name in ("src", "href", "srcset", "poster", "data"):
            if name in attributes and tag != "a":
                self.loads.append(attributes[name])


@pytest.fixture(scope="module")
def site(tmp_path_factory, notebook_cache):
    out = tmp_path_factory.mktemp("site")
    package = str(Path(almond.__file__).parents[1])
    if not (Path(package) / "almond" / "_core.pyi").exists():
        pytest.skip("no _core.pyi beside the package: make python makes it")
    environment = {**os.environ, "ALMOND_PYTHON": package, "ALMOND_NOTEBOOKS": str(notebook_cache), "PYTHONPATH": package, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(out)]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout + result.stderr == ""  # no warning either
    pages = {path: Page(path) for path in out.rglob("*.html") if "<!--ALMOND" not in path.read_text(encoding="utf-8") and path.name == "index.html"}
    assert len(pages) >= 20
    return out, pages


def target_of(page, link, root):
    path, _, anchor = link.partition("#")
    target = page if not path else (root / path.lstrip("/") if path.startswith("/") else (page.parent / path).resolve())
    return (target / "index.html" if target.is_dir() else target), anchor


def test_links_lead_somewhere(site):
    root, pages = site
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            target, anchor = target_of(path, link, root)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append(f"{path.relative_to(root)}: {link}")
    assert broken == []


def test_nothing_comes_from_other_hosts(site):
    root, pages = site
    outside = [f"{path.relative_to(root)}: {load}" for path, page in pages.items() for load in page.loads if re.match(r"(https?:)?//", load)]
    assert outside == []
    styles = [url for path in root.rglob("*.css") for url in re.findall(r"url\(([^)]*)\)|@import ([^;]*)", path.read_text(encoding="utf-8"))]
    assert [url for url in styles if "//" in "".join(url) and "data:" not in "".join(url)] == []


def test_formulas_are_drawn(site):
    root, _ = site
    text = (root / "theory" / "index.html").read_text(encoding="utf-8")
    source = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / "docs/theory.md").read_text(encoding="utf-8"), flags=re.S)
    formulas = len(re.findall(r"\$\$.*?\$\$|\$[^$]+\$", source, re.S))
    assert formulas > 50 and text.count("<math ") == formulas
    for path in root.rglob("index.html"):
        page = path.read_text(encoding="utf-8")
        left = re.sub(r"<(code|pre|script|style).*?</\1>", "", page, flags=re.S)
        assert "arithmatex" not in left and not re.search(r"\\(lambda|frac|top|mathrm|lVert)\b", left), path


def modules():
    found = {"almond": almond}
    for file in sorted((ROOT / "python" / "almond").glob("[!_]*.py")):
        try:
            found[f"almond.{file.stem}"] = importlib.import_module(f"almond.{file.stem}")
        except ModuleNotFoundError:  # an extra that is not installed here
            pass
    return {name: module for name, module in found.items() if hasattr(module, "__all__")}


def public_members():
    """(name, object) of everything that a user may call or read."""
    for module_name, module in modules().items():
        for name in module.__all__:
            if name.startswith("__"):
                continue
            thing = getattr(module, name)
            yield f"{module_name}.{name}", thing
            if inspect.isclass(thing):
                for member, value in vars(thing).items():
                    kinds = (property, staticmethod, classmethod, types.FunctionType)
                    if not member.startswith("_") and (isinstance(value, kinds) or "nb_method" in type(value).__name__):
                        yield f"{module_name}.{name}.{member}", value


def test_everything_public_has_words_and_a_place_in_the_reference(site):
    root, pages = site
    ids = set().union(*(page.ids for path, page in pages.items() if "api" in path.parts))
    members = dict(public_members())
    assert len(members) > 120
    assert [name for name, thing in members.items() if not (inspect.getdoc(thing) or "").strip()] == []
    assert [name for name in members if name not in ids and re.sub(r"^almond\.", "almond._core.", name) not in ids] == []
