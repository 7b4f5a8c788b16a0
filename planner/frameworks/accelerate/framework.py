"""PyTorch FSDP, which Hugging Face Accelerate launches."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.accelerate.profile import FSDP
from planner.frameworks.framework import Framework, Target, Tuning

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch


def _tuner(name: str, title: str, *rules: str) -> Target:
    """What tunes models on PyTorch FSDP, with configurations of its own."""
    jobs = ("finetune", "lora", "dpo")
    return Target(name=name, title=title, framework="fsdp", rules=rules, jobs=jobs)


class Accelerate(Framework):
    """PyTorch FSDP, launched by Accelerate, and what tunes models on it."""

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
        _tuner("trl", "Hugging Face TRL", "tuned", "peft", "trl"),
        _tuner("torchtune", "torchtune", "tuned", "torchtune"),
        _tuner("axolotl", "Axolotl", "tuned", "peft", "axolotl"),
    )
    launched_as = MappingProxyType({"fsdp": "accelerate"})
    tuning = Tuning(
        vendors=("nvidia", "amd"),
        formats=("bf16", "fp16", "fp32"),
        reason="what TRL, Axolotl and torchtune fine-tune with",
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `rules` and `tuning` here, and `rules` of each target."""
        from planner.frameworks.accelerate.axolotl.rules import AXOLOTL  # noqa: PLC0415  (not for --help)
        from planner.frameworks.accelerate.rules import ACCELERATE  # noqa: PLC0415  (not for --help)
        from planner.frameworks.accelerate.torchtune.rules import TORCHTUNE  # noqa: PLC0415  (not for --help)
        from planner.frameworks.accelerate.trl.rules import TRL  # noqa: PLC0415  (not for --help)
        from planner.frameworks.accelerate.tuning import PEFT, TUNED  # noqa: PLC0415  (not for --help)

        return (*ACCELERATE, *TUNED, *PEFT, *TRL, *TORCHTUNE, *AXOLOTL)

    def write(self, launch: Launch, target: Target) -> Export:
        """See the module `write` here, or in the folder of the target."""
        folder = "" if target.name == self.name else f".{target.name}"
        writer = import_module(f"planner.frameworks.accelerate{folder}.write")  # where it is needed
        export: Export = writer.export(launch)
        return export

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.accelerate.checkpoints`."""
        from planner.frameworks.accelerate.checkpoints import ACCELERATE_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return ACCELERATE_CHECKPOINTS


ACCELERATE = Accelerate()
