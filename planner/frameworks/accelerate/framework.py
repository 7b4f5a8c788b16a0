"""PyTorch FSDP, which Hugging Face Accelerate launches."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.accelerate.profile import FSDP
from planner.frameworks.framework import Framework, Target, Tuning

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


class Accelerate(Framework):
    """PyTorch FSDP, launched by Accelerate."""

    name = "accelerate"
    profiles = (FSDP,)
    targets = (
        Target(
            name="accelerate",
            title="Hugging Face Accelerate",
            framework="fsdp",
            versions=("1.15", "1.14"),
            rules=("accelerate", "peft"),
            jobs=("pretrain", "finetune", "lora"),
            processes="chips",
        ),
    )
    launched_as = MappingProxyType({"fsdp": "accelerate"})
    tuning = Tuning(
        vendors=("nvidia", "amd"),
        formats=("bf16", "fp16", "fp32"),
        reason="what TRL, Axolotl and torchtune fine-tune with",
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.accelerate.rules`."""
        from planner.frameworks.accelerate.rules import ACCELERATE  # noqa: PLC0415  (not for --help)
        from planner.frameworks.hugging_face.rules import PEFT  # noqa: PLC0415  (not for --help)

        return (*ACCELERATE, *PEFT)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.accelerate.write`."""
        from planner.frameworks.accelerate.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.accelerate.checkpoints`."""
        from planner.frameworks.accelerate.checkpoints import ACCELERATE_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return ACCELERATE_CHECKPOINTS


ACCELERATE = Accelerate()
