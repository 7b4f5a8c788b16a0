"""What a textbook counts, under the preset of its simplifications."""

from __future__ import annotations

from planner.frameworks.framework import Framework
from planner.frameworks.textbook.profile import TEXTBOOK as PROFILE


class Textbook(Framework):
    """How to Scale Your Model, part 5: no framework, what its exercises count."""

    name = "textbook"
    profiles = (PROFILE,)
    preset = "roofline"
    preset_reason = "10 bytes of state per parameter, any layout"


TEXTBOOK = Textbook()
