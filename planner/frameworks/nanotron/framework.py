"""nanotron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target
from planner.frameworks.nanotron.profile import NANOTRON as PROFILE

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


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
            launches="the YAML file",
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

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.nanotron.checkpoints`."""
        from planner.frameworks.nanotron.checkpoints import NANOTRON_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return NANOTRON_CHECKPOINTS

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.nanotron.read`."""
        from planner.frameworks.nanotron.read import read  # noqa: PLC0415  (only where one is read)

        return read(text, asked)

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
        """See `planner.frameworks.nanotron.changing`."""
        from planner.frameworks.nanotron.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        return settings_between(before, after, batch, layers, text), ANCHORS

    def recognizes(self, text: str) -> str:
        """See `planner.frameworks.nanotron.read`."""
        from planner.frameworks.nanotron.read import is_launch  # noqa: PLC0415  (only where one is read)

        return "nanotron" if is_launch(text) else ""


NANOTRON = Nanotron()
