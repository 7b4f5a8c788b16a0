"""Settings of all tests: in CI, hypothesis draws the same examples every time."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
