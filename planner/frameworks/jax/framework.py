"""JAX, and MaxText, which trains with it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target
from planner.frameworks.jax.profile import JAX as PROFILE

if TYPE_CHECKING:
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


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
        from planner.frameworks.jax import write  # noqa: PLC0415  (only where one is written)
        from planner.frameworks.jax.maxtext import write as maxtext  # noqa: PLC0415

        return maxtext.export(launch) if target.name == "maxtext" else write.export(launch)


JAX = Jax()
