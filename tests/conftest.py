"""Tests and the programs they start leave the user's cache alone, and MuJoCo's warnings go nowhere instead of into a
file MUJOCO_LOG.TXT in the current folder."""

import os

os.environ["ALMOND_CACHE_DIR"] = "off"

try:
    import mujoco

    mujoco.set_mju_user_warning(lambda text: None)
except ImportError:
    pass
