"""PyTorch FSDP, which Hugging Face Accelerate launches."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.accelerate.profile import FSDP
from planner.frameworks.framework import Framework, Starter, Target, Tuning

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


def _tuner(
    name: str, title: str, versions: tuple[str, str], *rules: str, launches: str = ""
) -> Target:
    """What tunes models on PyTorch FSDP, with configurations of its own."""
    jobs = ("finetune", "lora", "dpo")
    return Target(
        name=name, title=title, framework="fsdp", versions=versions, rules=rules, jobs=jobs,
        launches=launches, processes="chips",
    )  # fmt: skip


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
        _tuner(
            "trl",
            "Hugging Face TRL",
            ("1.16", "1.15"),
            "tuned",
            "peft",
            "trl",
            launches="a script or a configuration",
        ),
        _tuner(
            "torchtune",
            "torchtune",
            ("0.6.1", "0.6.0"),
            "tuned",
            "torchtune",
            launches="a configuration",
        ),
        _tuner(
            "axolotl",
            "Axolotl",
            ("0.19", "0.18"),
            "tuned",
            "peft",
            "axolotl",
            launches="a configuration",
        ),
    )
    starters = (Starter(name="accelerate", one_node=False), Starter(name="tune"))
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

    def read(self, text: str, asked: Asked) -> Imported:
        """See the module `read` in the folder of the target that recognizes it."""
        from planner.frameworks.reading.texts import with_scripts  # noqa: PLC0415  (only where one is read)

        folder = self.recognizes(with_scripts(text, asked.beside)) or _READ[0]
        reader = import_module(f"planner.frameworks.accelerate.{folder}.read")  # where it is needed
        imported: Imported = reader.read(text, asked)
        return imported

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]] | None:
        """See the module `changing` in the folder of the target that recognizes the launch."""
        folder = self.recognizes(text) or _READ[0]
        changing = import_module(f"planner.frameworks.accelerate.{folder}.changing")
        found = changing.settings_between(before, after, batch, text)
        return None if found is None else (found, changing.ANCHORS)

    def recognizes(self, text: str) -> str:
        """See the module `read` in the folder of each target that has one."""
        readers = ((name, import_module(f"planner.frameworks.accelerate.{name}.read"))
                   for name in _READ)  # fmt: skip
        return next((name for name, reader in readers if reader.is_launch(text)), "")

    def unread(self, text: str) -> str:
        """See `planner.frameworks.accelerate.scripts`."""
        from planner.frameworks.accelerate.scripts import unread  # noqa: PLC0415  (only where no launch is known)

        return unread(text)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.accelerate.checkpoints`."""
        from planner.frameworks.accelerate.checkpoints import ACCELERATE_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return ACCELERATE_CHECKPOINTS


_READ = ("torchtune", "axolotl", "trl")
"""Targets whose configurations are read."""
ACCELERATE = Accelerate()
