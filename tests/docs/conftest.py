"""Notebooks are run once: their test leaves what it ran to the test of the site."""

import pytest


@pytest.fixture(scope="session")
def notebook_cache(tmp_path_factory):
    return tmp_path_factory.getbasetemp() / "notebooks"
