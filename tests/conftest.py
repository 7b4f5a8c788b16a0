"""Settings of all tests: in CI, hypothesis draws the same examples every time.

Garbage is collected more rarely than by default: a test process keeps all modules, and looking
through them takes a twentieth of the suite's time.
"""

import gc
import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

gc.set_threshold(100_000, 20, 20)
