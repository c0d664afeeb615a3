"""Runs notebooks, and turns them into pages.

    python tools/site/notebooks.py [FILE...]    run those whose metadata say almond: {"execute": "long"}, or those named, in place

Notebooks lie in docs/notebooks without their outputs, but for the long ones, which keep those of their last run. The others are run
whenever the site is built, and by the tests. A long one that needs more than the tests do names the modules, almond: {"needs": [...]}.
"""

import base64
import hashlib
import importlib.util
import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"


def is_long(notebook):
    return notebook.metadata.get("almond", {}).get("execute") == "long"


def execute(notebook, folder):
    """Runs it with `folder` as the current one; raises with the cell and its error where one fails."""
    from nbclient import NotebookClient

    options = {"kernel_name": "python3", "extra_arguments": ["--IPKernelApp.log_level=40"], "resources": {"metadata": {"path": str(folder)}}}
    NotebookClient(notebook, timeout=3600 if is_long(notebook) else 300, **options).execute()
    return notebook


def executed(path, cache):
    """A notebook with its outputs: as it is kept where it is a long one, else of a run, which `cache` remembers by its contents."""
    notebook = nbformat.read(path, 4)
    if is_long(notebook):
        return notebook
    kept = Path(cache) / f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}.ipynb"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(execute(notebook, kept.parent), kept)
    return nbformat.read(kept, 4)


def to_markdown(notebook, name):
    """(text, {file name: bytes}): code, what it printed, pictures, and pages that are shown inside."""
    parts, files = [], {}

    def add_file(ending, data):
        file = f"{name}_{len(files)}.{ending}"
        files[file] = data
        return file

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            printed = ""
            for output in cell.outputs:
                if output.output_type == "stream":  # comes in pieces
                    printed += output.text
                else:
                    parts += [_printed(printed), _output(output, add_file)]
                    printed = ""
            parts.append(_printed(printed))
    return "\n\n".join(part for part in parts if part) + "\n", files


def _output(output, add_file):
    if output.output_type == "error":
        return _printed("\n".join(output.traceback))
    data = output.get("data", {})
    if "image/png" in data:
        return f"![output]({add_file('png', base64.b64decode(data['image/png']))})"
    if "image/svg+xml" in data:
        return f"![output]({add_file('svg', data['image/svg+xml'].encode())})"
    if "text/html" in data:
        # A page inside the page becomes a file of its own: smaller, and it loads when it is looked at.
        def own_file(match):
            return f'loading="lazy" src="../{add_file("html", base64.b64decode(match.group(1)))}"'

        # Indented lines would be code to Markdown, empty ones an end.
        text = re.sub(r"\n\s*", "\n", data["text/html"].strip())
        return re.sub(r'src="data:text/html;base64,([^"]+)"', own_file, text)
    return _printed(data.get("text/plain", ""))


def _printed(text):
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    return f"```{{.text .output}}\n{text}\n```" if text else ""


if __name__ == "__main__":
    named = [Path(argument).resolve() for argument in sys.argv[1:]]
    for path in named or [p for p in sorted(FOLDER.glob("*.ipynb")) if is_long(nbformat.read(p, 4))]:
        notebook = nbformat.read(path, 4)
        missing = [name for name in notebook.metadata.get("almond", {}).get("needs", []) if importlib.util.find_spec(name) is None]
        if missing and not named:
            print(f"{path.name}: left as it is, needs {', '.join(missing)}")
            continue
        print(f"{path.name} ...", flush=True)
        nbformat.write(execute(notebook, path.parent), path)
