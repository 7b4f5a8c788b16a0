"""nanotron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target
from planner.frameworks.nanotron.profile import NANOTRON as PROFILE

if TYPE_CHECKING:
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


class Nanotron(Framework):
    """Hugging Face nanotron."""

    name = "nanotron"
    profiles = (PROFILE,)
    targets = (
        Target(
            name="nanotron",
            title="Nanotron",
            framework="nanotron",
            versions=("main", "0.5"),
            processes="chips",
        ),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.nanotron.rules`."""
        from planner.frameworks.nanotron.rules import NANOTRON  # noqa: PLC0415  (not for --help)

        return NANOTRON

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.nanotron.write`."""
        from planner.frameworks.nanotron.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)


NANOTRON = Nanotron()
