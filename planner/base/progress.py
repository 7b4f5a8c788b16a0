"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it is done, and of how much."""


class NotedProgress(Protocol):
    """`Progress` that is also told where the work stands, in words."""

    def __call__(self, what: str, done: int, of: int, note: str = "") -> None:
        """Say it."""
