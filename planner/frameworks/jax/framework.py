"""JAX, and MaxText, which trains with it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target
from planner.frameworks.jax.profile import JAX as PROFILE

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


class Jax(Framework):
    """JAX: a program of one's own, or MaxText."""

    name = "jax"
    profiles = (PROFILE,)
    targets = (
        Target(
            name="maxtext",
            title="MaxText",
            framework="jax",
            rules=("maxtext",),
            versions=("main", "0.2.4", "0.2.3"),
            launches="a script or YAML file",
            processes="hosts",
        ),
        Target(name="jax", title="JAX", framework="jax", versions=("0.10", "0.9")),
    )
    launched_as = MappingProxyType({"jax": "maxtext"})
    vendors = ("google", "aws")
    examples = (("export", "planner export front.json --row 2 --to maxtext --allow-lossy --json"),)

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.jax.rules` and `planner.frameworks.jax.maxtext`."""
        from planner.frameworks.jax.maxtext.batch import MAXTEXT_BATCH  # noqa: PLC0415  (most questions need no rules of it)
        from planner.frameworks.jax.maxtext.blocks import MAXTEXT_BLOCKS  # noqa: PLC0415
        from planner.frameworks.jax.maxtext.experts import MAXTEXT_EXPERTS  # noqa: PLC0415
        from planner.frameworks.jax.maxtext.rules import MAXTEXT  # noqa: PLC0415
        from planner.frameworks.jax.maxtext.shards import MAXTEXT_SHARDS  # noqa: PLC0415
        from planner.frameworks.jax.rules import JAX  # noqa: PLC0415  (not for --help)

        maxtext = (*MAXTEXT, *MAXTEXT_SHARDS, *MAXTEXT_BLOCKS, *MAXTEXT_BATCH)
        return (*MAXTEXT_EXPERTS, *JAX, *maxtext)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.jax.write` and `planner.frameworks.jax.maxtext.write`."""
        if target.name == "maxtext":
            from planner.frameworks.jax.maxtext import write as maxtext  # noqa: PLC0415  (only where one is written)

            return maxtext.export(launch)
        from planner.frameworks.jax import write  # noqa: PLC0415  (only where one is written)

        return write.export(launch)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.jax.maxtext.checkpoints`."""
        from planner.frameworks.jax.maxtext.checkpoints import MAXTEXT_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return MAXTEXT_CHECKPOINTS

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.jax.maxtext.reading.read`."""
        from planner.frameworks.jax.maxtext.reading.read import read  # noqa: PLC0415  (only where one is read)

        return read(text, asked)

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
        """See `planner.frameworks.jax.maxtext.reading.changing`."""
        from planner.frameworks.jax.maxtext.reading.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        return settings_between(before, after, batch, layers, text), ANCHORS

    def recognizes(self, text: str) -> str:
        """See `planner.frameworks.jax.maxtext.reading.read`."""
        from planner.frameworks.jax.maxtext.reading.read import is_launch  # noqa: PLC0415  (only where one is read)

        return "maxtext" if is_launch(text) else ""


JAX = Jax()
