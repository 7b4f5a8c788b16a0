"""Acme's trainer: what the entry point names."""

from planner.frameworks.framework import Framework, Target
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked
from planner.frameworks.rules.rule import Rule
from planner.frameworks.writing import Export, Launch
from planner_acme.profile import PROFILE


class Acme(Framework):
    """A trainer with sharded data parallelism and tensor parallelism."""

    name = "acme"
    profiles = (PROFILE,)
    targets = (
        Target(name="acme", title="Acme's trainer", framework="acme", launches="a JSON file"),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner_acme.rules`."""
        from planner_acme.rules import RULES  # noqa: PLC0415  (where it is needed)

        return RULES

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner_acme.write`."""
        from planner_acme.write import export  # noqa: PLC0415  (where it is needed)

        return export(launch)

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner_acme.read`."""
        from planner_acme.read import read  # noqa: PLC0415  (where it is needed)

        return read(text, asked)
