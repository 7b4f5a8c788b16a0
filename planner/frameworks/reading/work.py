"""What it takes to go through a text of a user, which is bounded."""

from __future__ import annotations

from planner.base.errors import InputError

_LETTERS = 1 << 24
_STEPS = 1 << 16


class Work:
    """What it takes to go through a text: more than any script or recipe needs."""

    __slots__ = ("_letters", "_parts", "_steps", "_values")

    def __init__(self, values: str = "variables", parts: str = "commands and blocks") -> None:
        self._values, self._parts = values, parts
        self._letters = self._steps = 0

    def spend(self, name: str, letters: int = 0, steps: int = 0) -> None:
        """Counts letters of values, or parts of the text.

        Raises:
            InputError: They are too many; `name` is what the message calls the text.
        """
        self._letters += letters
        self._steps += steps
        if self._letters > _LETTERS:
            raise InputError(f"{name}: its {self._values} come to more than {_LETTERS:,} letters")
        if self._steps > _STEPS:
            raise InputError(f"{name}: it comes to more than {_STEPS:,} {self._parts}")
