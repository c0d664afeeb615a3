"""Tests of the Python package. They run where it is installed, or where PYTHONPATH leads to it, and are left out elsewhere."""

import pytest

collect_ignore_glob = []
try:
    import almond  # noqa: F401
except ImportError as error:
    if "almond" not in str(error):
        raise
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(7)
