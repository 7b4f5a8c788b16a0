"""torchtune, which its command `tune run` launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target

if TYPE_CHECKING:
    from planner.assumptions.software import FrameworkProfile
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


class Torchtune(Framework):
    """Recipes of torchtune, on PyTorch FSDP."""

    name = "torchtune"
    profiles: tuple[FrameworkProfile, ...] = ()
    targets = (
        Target(
            name="torchtune",
            title="torchtune",
            framework="fsdp",
            rules=("tuned", "torchtune"),
            jobs=("finetune", "lora", "dpo"),
            launches="a configuration",
        ),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.torchtune.rules` and of `hugging_face`."""
        from planner.frameworks.hugging_face.rules import TUNED  # noqa: PLC0415  (not for --help)
        from planner.frameworks.torchtune.rules import TORCHTUNE  # noqa: PLC0415  (as above)

        return (*TUNED, *TORCHTUNE)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.torchtune.write`."""
        from planner.frameworks.torchtune.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.torchtune.read`."""
        from planner.frameworks.torchtune.read import read  # noqa: PLC0415  (only where one is read)

        return read(text, asked)

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]] | None:
        """See `planner.frameworks.torchtune.changing`."""
        from planner.frameworks.torchtune.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        found = settings_between(before, after, batch, text)
        return None if found is None else (found, ANCHORS)

    def recognizes(self, text: str) -> str:
        """See `planner.frameworks.torchtune.read`."""
        from planner.frameworks.torchtune.read import is_launch  # noqa: PLC0415  (only where one is read)

        return "torchtune" if is_launch(text) else ""


TORCHTUNE = Torchtune()
