"""torchtune, which its command `tune run` launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target

if TYPE_CHECKING:
    from planner.assumptions.software import FrameworkProfile
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


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


TORCHTUNE = Torchtune()
