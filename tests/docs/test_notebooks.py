"""Notebooks run from start to end, with their own assertions; long ones (almond: {"execute": "long"}) keep the outputs of a run
without errors. They are stored without outputs otherwise, so that a change of one is a change of its words."""

import importlib.util
import sys

import pytest
from blocks import ROOT

for package in ("nbformat", "nbclient", "ipykernel", "almond"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: notebooks are not run", allow_module_level=True)
import nbformat  # noqa: E402

sys.path.insert(0, str(ROOT / "tools" / "site"))
import notebooks  # noqa: E402

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path, notebook_cache):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert notebook.cells[0].source.startswith("# ") and cells
    if notebooks.is_long(notebook):
        outputs = [output for cell in cells for output in cell.outputs]
        assert outputs and all(output.output_type != "error" for output in outputs), "make notebooks"
        pytest.skip("a long one: make notebooks runs it")
    assert all(not cell.outputs and cell.execution_count is None for cell in cells), "clear the outputs"
    done = notebooks.executed(path, notebook_cache)
    assert [cell.execution_count for cell in done.cells if cell.cell_type == "code"] == list(range(1, len(cells) + 1))
    text, _ = notebooks.to_markdown(done, path.stem)
    assert "Warning" not in text and "Traceback" not in text


def test_a_failing_cell_is_an_error(tmp_path):
    cells = [nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_code_cell("assert x == 2, 'twice'")]
    with pytest.raises(Exception, match="twice"):
        notebooks.execute(nbformat.v4.new_notebook(cells=cells), tmp_path)
