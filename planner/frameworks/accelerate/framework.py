"""PyTorch FSDP, which Hugging Face Accelerate launches."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.accelerate.profile import FSDP
from planner.frameworks.framework import Framework, Target, Tuning

if TYPE_CHECKING:
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

        return ACCELERATE

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.accelerate.write`."""
        from planner.frameworks.accelerate.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)


ACCELERATE = Accelerate()
