"""Tests and the programs they start leave the user's cache alone."""

import os

os.environ["ALMOND_CACHE_DIR"] = "off"
