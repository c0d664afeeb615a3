"""`almond verify`: a table of laws, all of which hold, and its JSON."""

import json

import pytest

from test_bad_input import complaint

KEYS = ["law", "what", "measured", "exact", "tolerance", "unit", "holds"]


@pytest.fixture(scope="module")
def everything(almond, tmp_path_factory):
    path = tmp_path_factory.mktemp("verify") / "laws.json"
    result = almond("verify", "--json", path, timeout=900)
    return result, json.loads(path.read_text())


def test_every_law_holds(everything):
    result, entries = everything
    broken = [entry for entry in entries if not entry["holds"]]
    assert entries and not broken, broken
    assert result.code == 0 and result.err == ""
    assert f"{len(entries)} of {len(entries)} hold" in result.out


def test_json_and_table_say_the_same(everything):
    result, entries = everything
    header, *_ = result.out.splitlines()
    assert header.split() == ["law", "what", "measured", "exact", "tolerance", "unit", "ok"]
    for entry in entries:
        assert list(entry) == KEYS
        assert entry["law"] in result.out and entry["what"] in result.out
        assert entry["holds"] == (abs(entry["measured"] - entry["exact"]) <= entry["tolerance"])


def test_laws_are_chosen_by_name(almond, everything):
    _, entries = everything
    name = entries[0]["law"]
    result = almond("verify", name, name, "--json", "-")
    assert result.code == 0 and [entry["law"] for entry in result.json()] == [e["law"] for e in entries if e["law"] == name]
    assert "of" in result.err  # the table, since standard output is taken


def test_unknown_laws_and_outputs_are_refused(almond, everything, tmp_path):
    _, entries = everything
    name = entries[0]["law"]
    assert f"did you mean {name}?" in complaint(almond("verify", name + "x"))
    assert "known: " in complaint(almond("verify", "zzzzzzzzzzzz"))
    assert "nowhere" in complaint(almond("verify", "--json", tmp_path / "nowhere" / "x.json"))
