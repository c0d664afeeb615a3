"""tools/work_baseline: what it calls more work, what it leaves alone, and what it says to do. On made-up counts; `make test-work` measures."""

import importlib.machinery
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    loader = importlib.machinery.SourceFileLoader("work_baseline", str(ROOT / "tools" / "work_baseline"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("work_baseline", loader))
    loader.exec_module(module)
    return module


def counts(compiler="g++ 1", **changes):
    case = {"calls": 1, "iterations": 100, "newton_steps": 10, "pgs_sweeps": 0, "admm_iterations": 50, "unsolved": 0, "instructions": 1000000}
    return {"compiler": compiler, "flags": "-O3", "cases": {"tower": {**case, **changes}}}


def test_equal_work_is_fine(tool):
    assert tool.compare(counts(), counts()) == ([], [], [])


def test_a_tenth_more_is_too_much(tool):
    more, less, left = tool.compare(counts(instructions=1110000), counts())
    assert more == ["tower: instructions 1000000 -> 1110000 (+11.0 %)"] and not less and not left
    assert tool.compare(counts(instructions=1090000), counts())[0] == []
    assert tool.compare(counts(iterations=120), counts())[0] == ["tower: iterations 100 -> 120 (+20.0 %)"]


def test_a_few_iterations_are_no_share_of_anything(tool):
    assert tool.compare(counts(pgs_sweeps=3, newton_steps=14), counts())[0] == []
    assert len(tool.compare(counts(pgs_sweeps=4), counts())[0]) == 1


def test_less_work_is_said(tool):
    more, less, _ = tool.compare(counts(instructions=500000), counts())
    assert not more and less == ["tower: instructions 1000000 -> 500000 (-50.0 %)"]


def test_another_compiler_has_more_room_and_no_instructions(tool):
    more, _, left = tool.compare(counts("clang 2", iterations=125, instructions=9000000), counts())
    assert not more and len(left) == 1 and "clang 2" in left[0]
    assert len(tool.compare(counts("clang 2", iterations=140), counts())[0]) == 1


def test_cases_that_come_and_go_are_told(tool):
    without = {**counts(), "cases": {}}
    assert tool.compare(counts(), without)[0] == ["tower: only in the measurement"]
    assert tool.compare(without, counts())[0] == ["tower: only in the baseline"]


def test_a_failure_says_what_to_do(tool, tmp_path, monkeypatch, capsys):
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(counts()))
    monkeypatch.setattr(tool, "BASELINE", file)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    with pytest.raises(SystemExit) as exit_info:
        tool.check(counts(instructions=2000000), None)
    assert "run tools/work_baseline and commit" in str(exit_info.value)
    assert "tower: instructions 1000000 -> 2000000 (+100.0 %)" in capsys.readouterr().out
    tool.check(counts(), "valgrind is not installed")
    assert "not compared: instructions: valgrind is not installed" in capsys.readouterr().out


def test_profiles_are_read_in_order(tool, tmp_path):
    for name, text in {"out.10": "summary: 0\ntotals: 30\n", "out.2": "totals: 20\n", "out.1": "totals: 10\n", "out": "totals: 0\n"}.items():
        (tmp_path / name).write_text(text)
    assert tool.read_calls(tmp_path) == [10, 20, 30]


def test_the_baseline_is_whole(tool):
    baseline = json.loads(tool.BASELINE.read_text())
    assert len(baseline["cases"]) >= 8
    for case in baseline["cases"].values():
        assert case["instructions"] > 0 and case["iterations"] > 0
