"""torchtitan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target
from planner.frameworks.torchtitan.profile import PROFILES

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


class Torchtitan(Framework):
    """torchtitan, of today and of 2024."""

    name = "torchtitan"
    profiles = PROFILES
    targets = (
        Target(
            name="torchtitan",
            title="torchtitan",
            framework="torchtitan",
            lists_layers=True,
            versions=("0.3", "0.2", "main"),
            launches="a TOML file or overrides",
            processes="chips",
        ),
    )
    examples = (
        (
            "export",
            "planner export runnable.yaml --to torchtitan --target-version 0.2 --allow-lossy "
            "-o launch",
        ),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.torchtitan.rules`."""
        from planner.frameworks.torchtitan.rules import TORCHTITAN  # noqa: PLC0415  (not for --help)

        return TORCHTITAN

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.torchtitan.write`."""
        from planner.frameworks.torchtitan.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.torchtitan.read`."""
        from planner.frameworks.torchtitan.read import read  # noqa: PLC0415  (only where one is read)

        return read(text, asked)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.torchtitan.checkpoints`."""
        from planner.frameworks.torchtitan.checkpoints import TORCHTITAN_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return TORCHTITAN_CHECKPOINTS

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
        """See `planner.frameworks.torchtitan.changing`."""
        from planner.frameworks.torchtitan.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        return settings_between(before, after, batch, layers, text), ANCHORS

    def recognizes(self, text: str) -> str:
        """TOML with a parallelism section, overrides of its settings, or functions in Python."""
        words = (
            r"^\[parallelism\]",
            r"--(parallelism|training|activation_checkpoint)[.:]",
            r"torchtitan\.train|--job\.config[_-]file\b",
            r"^def \w+\(.*->\s*\"?Trainer\.Config\b",
        )
        return "torchtitan" if any(re.search(word, text, re.M) for word in words) else ""


TORCHTITAN = Torchtitan()
