"""What MkDocs needs to make a site of files that are also read as they lie in the repository:

- the front page and the gallery are the README's; pages beside docs/ and sources that are linked to come along
- the reference is made of the package: one page per subject, one per further module
- notebooks become pages, with the outputs of a run
- formulas become MathML, which browsers draw without scripts or fonts from elsewhere
"""

import ast
import html
import os
import posixpath
import re
import sys
from pathlib import Path

import latex2mathml.converter
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
import notebooks  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# Pages that lie beside docs/, by the name they have on the site.
BESIDE = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md", "viewer_page.md": "viewer/README.md", "viewer_format.md": "viewer/FORMAT.md"}
# The reference of the package itself, by subject. Modules of python/almond with an __all__ follow by themselves.
SUBJECTS = {
    "simulator": ("The simulator", ["load", "simulate", "scenes", "Simulation", "StepReport", "Batch"]),
    "models": ("Models", ["ModelBuilder", "Model", "Shape", "Sphere", "Box", "Capsule", "Cylinder", "Cone", "Ellipsoid", "Plane", "Hull", "Mesh", "HeightField", "Sdf"]),
    "solver": ("The solver", ["solve", "solvers", "ContactProblem", "Solution", "Certificate", "Workspace"]),
}


def public_names(file):
    """__all__ of a Python file."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


def reference_pages():
    """(title, page, text)"""
    package = ROOT / "python" / "almond"
    placed = {name for _, names in SUBJECTS.values() for name in names}
    missing = [name for name in public_names(package / "__init__.py") if name not in placed and not name.startswith("_")]
    subjects = dict(SUBJECTS, **({"more": ("More", missing)} if missing else {}))
    for page, (title, names) in subjects.items():
        yield title, f"api/{page}.md", f"# {title}\n\n" + "\n".join(f"::: almond.{name}\n" for name in names)
    for file in sorted(package.glob("[!_]*.py")):
        names = public_names(file)
        if names:
            module = f"almond.{file.stem}"
            options = "show_root_heading: false, show_root_toc_entry: false, heading_level: 1"
            yield module, f"api/{file.stem}.md", f"# {module}\n\n::: {module}\n    options: {{{options}, members: [{', '.join(names)}]}}\n"


def split_readme():
    """The README without its gallery, and the gallery."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, rest = text.split("## Gallery\n")
    gallery, after = re.split(r"(?m)^(?=## )", rest, maxsplit=1)
    return before + after, "# Gallery\n" + gallery


def on_config(config):
    """Reference and notebooks into the navigation, and pages of docs/ that nobody has put there under "How to"."""
    reference = [{title: page} for title, page, _ in reference_pages()]
    books = [{_title(path): f"notebooks/{path.stem}.md"} for path in sorted(notebooks.FOLDER.glob("*.ipynb"))]
    placed = {page for section in config["nav"] for entry in section.values() if isinstance(entry, list) for item in entry for page in item.values()}
    others = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in placed]
    for section in config["nav"]:
        for title, pages in (("Python reference", reference), ("Notebooks", books), ("How to", others)):
            if title in section:
                section[title] = section[title] + pages
    return config


def _title(path):
    cells = notebooks.nbformat.read(path, 4).cells
    return re.search(r"^# (.*)", cells[0].source, re.M).group(1)


def on_files(files, config):
    front, gallery = split_readme()
    texts = {"index.md": front, "gallery.md": gallery, **{page: text for _, page, text in reference_pages()}}
    for page, source in BESIDE.items():
        texts[page] = (ROOT / source).read_text(encoding="utf-8")
    cache = Path(os.environ.get("ALMOND_NOTEBOOKS", ROOT / "build" / "notebooks"))
    for path in sorted(notebooks.FOLDER.glob("*.ipynb")):
        files.remove(files.get_file_from_path(f"notebooks/{path.name}"))
        text, data = notebooks.to_markdown(notebooks.executed(path, cache), path.stem)
        texts[f"notebooks/{path.stem}.md"] = text
        for name, content in data.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    # Sources that pages link to, as text that any browser shows.
    for page in list(files.documentation_pages()):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.content_string):
            source = _beside(page.src_uri, target)
            if source and not source.endswith(".md") and f"source/{source}.txt" not in files.src_uris:
                files.append(File.generated(config, f"source/{source}.txt", content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def _folder_of(page):
    """Where a page of the site lies in the repository."""
    if page in ("index.md", "gallery.md"):
        return ""
    return posixpath.dirname(BESIDE[page]) if page in BESIDE else posixpath.join("docs", posixpath.dirname(page))


def _beside(page, target):
    """The file outside docs/ that a link of a page leads to, from the root; None for others."""
    if "://" in target or target.startswith("mailto:"):
        return None
    path = posixpath.normpath(posixpath.join(_folder_of(page), target))
    if (ROOT / path).is_dir():
        sources = sorted((ROOT / path).glob("*.cpp"))
        path = str(sources[0].relative_to(ROOT)) if sources else path
    return path if not path.startswith("docs/") and (ROOT / path).is_file() else None


def on_page_markdown(markdown, page, config, files):
    names = {source: site for site, source in BESIDE.items()}

    def relink(match):
        target, anchor = match.group(1), match.group(2) or ""
        if "://" in target:
            return match.group(0)
        path = posixpath.normpath(posixpath.join(_folder_of(page.file.src_uri), target))
        if path == "README.md":
            site = "gallery.md" if anchor == "#gallery" else "index.md"
            anchor = "" if anchor == "#gallery" else anchor
        elif path in names:
            site = names[path]
        elif source := _beside(page.file.src_uri, target):
            site = f"source/{source}.txt"
        elif path.startswith("docs/"):
            site = re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))
        else:
            return match.group(0)
        return f"]({posixpath.relpath(site, posixpath.dirname(page.file.src_uri) or '.')}{anchor})"

    lines, fenced = [], False
    for line in markdown.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        if not fenced:
            line = re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", relink, line)
            # Elsewhere a list may follow its sentence at once; here it wants an empty line.
            if re.match(r"(- |\* |\d+\. )", line) and lines and lines[-1].strip() and not re.match(r"(- |\* |\d+\. | )", lines[-1]):
                lines.append("")
        lines.append(line)
    return "\n".join(lines)


def on_page_content(content, page, config, files):
    def draw(match):
        tag, tex = match.group(1), html.unescape(match.group(2)).strip()
        tex = tex.removeprefix(r"\(").removesuffix(r"\)").removeprefix(r"\[").removesuffix(r"\]").strip()
        drawn = latex2mathml.converter.convert(tex, display="block" if tag == "div" else "inline")
        # Perpendicular is a relation, with room around it; the transpose sign stands close.
        drawn = drawn.replace("<mi>&#x027C2;</mi>", "<mo lspace='0.28em' rspace='0.28em'>&#x027C2;</mo>")
        return drawn.replace("<mo>&#x022A4;</mo>", "<mi>&#x022A4;</mi>")

    return re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', draw, content, flags=re.S)
