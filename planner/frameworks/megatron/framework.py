"""Megatron-LM, Megatron-Bridge, and what is built on Megatron-Core."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.frameworks.framework import Framework, Target
from planner.frameworks.megatron.profile import MEGATRON as PROFILE
from planner.frameworks.megatron.profile import PROFILES, WIDE_GRADIENTS

if TYPE_CHECKING:
    from planner.cost.context import CostModel
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


class Megatron(Framework):
    """Megatron-Core: Megatron-LM and Megatron-Bridge launch it, two others are built on it."""

    name = "megatron"
    profiles = PROFILES
    targets = (
        Target(
            name="megatron",
            title="Megatron-LM",
            framework="megatron",
            rules=("megatron-lm",),
            lists_layers=True,
            versions=("0.16", "0.19", "0.18"),
            launches="a script or arguments",
            processes="chips",
        ),
        Target(
            name="megatron-bridge",
            title="Megatron-Bridge",
            framework="megatron",
            rules=("megatron-bridge",),
            lists_layers=True,
            versions=("main", "0.6", "0.5"),
            jobs=("pretrain", "finetune", "lora"),
            processes="chips",
        ),
    )
    launched_as = MappingProxyType({WIDE_GRADIENTS.name: "megatron"})
    examples = tuple(
        (
            command,
            f"planner {command} --from megatron run.sh --model llama2-13b "
            "--hardware dgx-a100-80-hdr",
        )
        for command in ("evaluate", "explain")
    )

    def rules(self) -> tuple[Rule, ...]:
        """See `planner.frameworks.megatron.rules`."""
        from planner.frameworks.megatron.bridge.rules import BRIDGE  # noqa: PLC0415  (not for --help)
        from planner.frameworks.megatron.rules import MEGATRON  # noqa: PLC0415  (not for --help)

        return (*MEGATRON, *BRIDGE)

    def write(self, launch: Launch, target: Target) -> Export:
        """See `planner.frameworks.megatron.write` and the module of that name of `bridge`."""
        from planner.frameworks.megatron import write  # noqa: PLC0415  (only where one is written)
        from planner.frameworks.megatron.bridge import write as bridge  # noqa: PLC0415

        return bridge.export(launch) if target.name == "megatron-bridge" else write.export(launch)

    def read(self, text: str, asked: Asked) -> Imported:
        """See `planner.frameworks.megatron.read`."""
        from planner.frameworks.megatron.read import read  # noqa: PLC0415  (only where one is read)

        return read(text, asked)

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]] | None:
        """See `planner.frameworks.megatron.changing`."""
        from planner.frameworks.megatron.changing import ANCHORS, settings_between  # noqa: PLC0415  (only where one is changed)

        found = settings_between(before, after, batch, layers, text)
        return None if found is None else (found, ANCHORS)

    def recognizes(self, text: str) -> str:
        """See `planner.frameworks.megatron.dialects.forms`."""
        from planner.frameworks.megatron.dialects.forms import is_launch  # noqa: PLC0415  (only where one is read)

        return "megatron" if is_launch(text) else ""

    def unread(self, text: str) -> str:
        """Overrides of Hydra over a YAML file of NeMo 1, and recipes of NeMo 2."""
        from planner.frameworks.megatron.dialects.nemo2 import unread  # noqa: PLC0415  (only where no launch is known)

        if line := unread(text):
            return line
        if not re.search(r"\b(trainer\.(num_nodes|devices)|model\.\w+_parallel_size)=", text):
            return ""
        return (
            "starts NeMo with overrides of a YAML file (--config-name); give that file, with what "
            "is overridden put in: a section trainer and a section model"
        )

    def recomputes_by_stage(self, model: CostModel, plan: Plan) -> bool:
        """Megatron-Core can; what is built on it says nothing of it."""
        from planner.frameworks.megatron.recompute import stages_are_launchable  # noqa: PLC0415  (most questions need no rules of it)

        own = (PROFILE.name, WIDE_GRADIENTS.name)
        return model.framework.name in own and stages_are_launchable(model.job.model, plan)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """See `planner.frameworks.megatron.checkpoints`."""
        from planner.frameworks.megatron.checkpoints import MEGATRON_CHECKPOINTS  # noqa: PLC0415  (few questions are about a run that exists)

        return MEGATRON_CHECKPOINTS


MEGATRON = Megatron()
