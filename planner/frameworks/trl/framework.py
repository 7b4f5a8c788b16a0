"""Hugging Face TRL, which Accelerate launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target

if TYPE_CHECKING:
    from planner.assumptions.software import FrameworkProfile
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


class Trl(Framework):
    """SFT and DPO of TRL, on PyTorch FSDP."""

    name = "trl"
    profiles: tuple[FrameworkProfile, ...] = ()
    targets = (
        Target(
            name="trl",
            title="Hugging Face TRL",
            framework="fsdp",
            rules=("tuned", "peft", "trl"),
            jobs=("finetune", "lora", "dpo"),
        ),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.trl.rules` and of `hugging_face`."""
        from planner.frameworks.hugging_face.rules import PEFT, TUNED  # noqa: PLC0415  (not for --help)
        from planner.frameworks.trl.rules import TRL  # noqa: PLC0415  (as above)

        return (*TUNED, *PEFT, *TRL)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.trl.write`."""
        from planner.frameworks.trl.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)


TRL = Trl()
