"""DeepSpeed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.deepspeed.profile import PROFILES
from planner.frameworks.framework import Framework, Starter, Target

if TYPE_CHECKING:
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


class DeepSpeed(Framework):
    """DeepSpeed, with kernels of its own or of Liger."""

    name = "deepspeed"
    profiles = PROFILES
    targets = (
        Target(
            name="deepspeed",
            title="DeepSpeed",
            framework="deepspeed",
            lists_layers=True,
            versions=("0.19", "0.18"),
            launches="a JSON file",
            processes="chips",
        ),
    )
    starters = (Starter(name="deepspeed", hosts=True),)
    launched_as = MappingProxyType({"deepspeed-liger": "deepspeed"})
    examples = (
        ("export", "planner export plan.yaml --to deepspeed --allow-lossy -o launch"),
        (
            "evaluate",
            "planner evaluate --from deepspeed ds_config.json --model llama3-8b "
            "--hardware h100-sxm5-80\n    --chips 64 --seq-len 8192 -o launched.yaml",
        ),
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.deepspeed.rules` and `planner.frameworks.deepspeed.models`."""
        from planner.frameworks.deepspeed.models import DEEPSPEED_MODELS  # noqa: PLC0415  (most questions need no rules of it)
        from planner.frameworks.deepspeed.rules import DEEPSPEED  # noqa: PLC0415  (not for --help)

        return (*DEEPSPEED, *DEEPSPEED_MODELS)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.deepspeed.write`."""
        from planner.frameworks.deepspeed.write import export  # noqa: PLC0415  (only where one is written)

        return export(launch)

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.deepspeed.read`."""
        from planner.base.errors import InputError  # noqa: PLC0415  (only where one is read)
        from planner.frameworks.deepspeed.read import read  # noqa: PLC0415  (only where one is read)

        if line := self.unread(text):
            from planner.frameworks.deepspeed.launched import started_with  # noqa: PLC0415  (only for scripts)

            found = started_with(text, asked)
            if found is None:
                raise InputError(f"{asked.name}: {line}")
            return read(found.text, found.asked, found)
        return read(text, asked)

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]] | None:
        """See `planner.frameworks.deepspeed.changing`."""
        from planner.frameworks.deepspeed.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        found = settings_between(before, after, batch, text)
        return None if found is None else (found, ANCHORS)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.deepspeed.checkpoints`."""
        from planner.frameworks.deepspeed.checkpoints import DEEPSPEED_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return DEEPSPEED_CHECKPOINTS

    def recognizes(self, text: str) -> str:
        """JSON with a section or a batch of DeepSpeed, or a script that starts a program."""
        words = ('"zero_optimization"', '"train_micro_batch_size_per_gpu"', '"train_batch_size"')
        is_json = text.lstrip().startswith("{")
        found = is_json and any(word in text for word in words)
        return "deepspeed" if found or self.unread(text) else ""

    def unread(self, text: str) -> str:
        """See `planner.frameworks.deepspeed.launched`."""
        from planner.frameworks.deepspeed.launched import unread  # noqa: PLC0415  (only where no launch is known)

        return unread(text)


DEEPSPEED = DeepSpeed()
