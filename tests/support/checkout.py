"""What tests leave in the checkout: nothing, but for the folders of tools and builds."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = {"build", "dist", "site"}
"""Names of what builds make; those of tools begin with a dot."""


class Listing:
    """The names at the top of a folder, as they were first or were told of."""

    def __init__(self, folder: Path = ROOT) -> None:
        self.folder = folder
        self.names = self._now()

    def left(self) -> list[str]:
        """Names that are new since; each is told of once."""
        new = self._now() - self.names
        self.names |= new
        return sorted(new)

    def _now(self) -> set[str]:
        return {
            name for name in os.listdir(self.folder)
            if not name.startswith((".", "__")) and name not in BUILT
            and not name.endswith(".egg-info")
        }  # fmt: skip
