"""Launches of Megatron-LM as plans: the arguments of pretrain_gpt.py, in a script or alone.

Names, defaults and what follows from what: megatron/training/arguments.py (`validate_args`),
megatron/core/model_parallel_config.py and core/transformer/transformer_config.py, d98e8a64dd
(2026-08-22). The parser there takes no abbreviations, so none are taken here.
"""

from __future__ import annotations

import re
from typing import Any

from planner.assumptions.optimizers import ADAM
from planner.base.errors import InputError
from planner.base.messages import one_line
from planner.frameworks.megatron.dialects.fork import fork_of
from planner.frameworks.megatron.dialects.forms import recipe_in
from planner.frameworks.megatron.dialects.recipe import Recipe
from planner.frameworks.megatron.profile import MEGATRON, WIDE_GRADIENTS
from planner.frameworks.megatron.reading.checks import check_combinations
from planner.frameworks.megatron.reading.classes import (
    reasons,
    refuse_what_replaces,
    warn_of_others,
)
from planner.frameworks.megatron.reading.dimensions import check_model
from planner.frameworks.megatron.reading.kernels import kernel_warnings
from planner.frameworks.megatron.reading.model import SETTINGS, model_dimensions, model_warnings
from planner.frameworks.megatron.reading.names import known_flags
from planner.frameworks.megatron.reading.optimizer import optimizer_of
from planner.frameworks.megatron.reading.parallel import mesh_and_sharding
from planner.frameworks.megatron.reading.recompute import recomputation_of
from planner.frameworks.megatron.reading.stages import chunks_of
from planner.frameworks.megatron.words import FP8_RECIPES
from planner.frameworks.reading.commands import command_in
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked, LaunchSettings, chips_of
from planner.plan import Plan

_VARIABLE = re.compile(r"\$\{?\w+\}?|\$\{.*\}|\$\(.*\)|`.*`", re.DOTALL)
"""A variable or an output that the text does not define, which may hold any flags."""


def read(text: str, asked: Asked) -> Imported:
    """The plan of a launch.

    Args:
        text: A script, or arguments.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    found = recipe_in(text, asked) or _arguments(text, asked)
    command = found.command
    launch = LaunchSettings(asked, dict(found.settings), changed=command.changed)
    launch.warnings += command.notes
    refuse_what_replaces(launch)
    dimensions = model_dimensions(launch) if found.states_model else {}
    job = _job(launch)
    launch.check()
    model = asked.model_of({**dimensions, **found.dimensions}, SETTINGS, found.model)
    if found.states_model:
        check_model(launch, model, job["seq_len"])
    else:
        launch.taken |= {name for text in SETTINGS.values() for name in text.split(", ")}
    launch.assumed += found.assumed
    started = chips_of(launch, command.chips, command.said, command.nodes)
    mesh = mesh_and_sharding(launch, model, started)
    interleave, stages, split = chunks_of(launch, model, mesh["pp"])
    micro_batch = launch.fixed("micro_batch", launch.whole("--micro-batch-size"))
    recompute, stages = recomputation_of(launch, model, mesh["pp"], interleave, stages, split)
    schedule = "interleaved" if interleave > 1 else "1f1b"
    piped: dict[str, Any] = {
        "interleave": interleave,
        "schedule": schedule,
        "split": split,
        "stages": stages,
    }
    plan = launch.finished(Plan(**mesh, **piped, micro_batch=micro_batch, recompute=recompute))
    batch = _batch(launch, plan, found.accumulation)
    launch.warnings += model_warnings(launch, model)
    launch.warnings += kernel_warnings(launch, plan)
    if found.is_command:
        check_combinations(launch, plan)
        warn_of_others(launch)
    said = {**job, **found.job, "model": model.name, "batch_tokens": batch * job["seq_len"]}
    return launch.imported("megatron", plan, said, dimensions, reasons())


def _arguments(text: str, asked: Asked) -> Recipe:
    """The arguments in a text, those of a fork in the words of Megatron-LM."""
    command = command_in(
        text, asked.name, known_flags(), "Megatron-LM", asked.beside, asked.arguments
    )
    recipe = Recipe(command=command, settings=_settings(command.words, asked.name))
    return fork_of(recipe, assumes=asked.assumes)


def _batch(launch: LaunchSettings, plan: Plan, steps: int) -> int:
    """Sequences of a step; `steps`: micro-batches of it on a data rank, 0 where none are said."""
    batch = launch.whole(
        "--global-batch-size", max(steps, 1) * plan.micro_batch * plan.dp * plan.fsdp
    )
    if "--global-batch-size" not in launch.values and not steps:
        launch.assume("batch", batch, "micro-batch times data ranks, as Megatron-LM has it")
    return batch


def _settings(words: list[str], name: str) -> dict[str, tuple[str, ...]]:
    """Flags with their values; words that belong to none stand as settings of their own.

    Raises:
        InputError: A flag has too few values.
    """
    known, found = known_flags(), dict[str, tuple[str, ...]]()
    at, problems, last = 0, [], ""
    while at < len(words):
        word, equals, value = words[at].partition("=")
        at += 1
        if not word.startswith("--"):
            loose = _VARIABLE.fullmatch(words[at - 1]) is not None
            if last in known and known[last][0] and not loose:
                found[last] += (words[at - 1],)  # a value that the shell took apart
            elif last:
                found.setdefault(words[at - 1], ())
            continue
        after = _values(words, at)
        arity = known[word][0] if word in known else "+"
        count = {"": 0, "=": 1, "3": 3, "+": len(after)}[arity]
        if equals:
            found[word] = (value,)
        elif len(after) < count:
            problems.append(f"{name}: {one_line(word)}: has no value")
        else:
            found[word] = tuple(after[:count])
            at += count
        last = word
    if problems:
        raise InputError("\n".join(problems))
    return found


def _values(words: list[str], at: int) -> list[str]:
    """The words up to the next flag."""
    end = at
    while end < len(words) and not words[end].startswith("--"):
        end += 1
    return words[at:end]


def _job(launch: LaunchSettings) -> dict[str, Any]:
    """What the arguments say of the job."""
    length = launch.whole("--seq-length") or launch.whole("--encoder-seq-length")
    for name, value in (("--seq-length", length), ("--micro-batch-size", None)):
        if not value and name not in launch.values:
            launch.wrong(name, "is missing, and Megatron-LM has no default for it")
    for name in ("--rampup-batch-size", "--step-batch-size-schedule"):
        if launch.on(name):
            launch.warnings.append(f"{name}: the step is that of the whole batch, at the end")
    precision = _precision(launch)
    recipe = {"fp8_recipe": _recipe(launch)} if precision == "fp8" else {}
    return {
        "seq_len": length,
        "precision": precision,
        **recipe,
        "framework": _profile(launch),
        "optimizer": None if (optimizer := optimizer_of(launch)) == ADAM else optimizer,
    }


def _recipe(launch: LaunchSettings) -> str:
    """How operands are scaled at fp8; delayed where nothing is said (core 0.16.1)."""
    said = launch.text("--fp8-recipe") or "delayed"
    for name, flag in FP8_RECIPES.items():
        if flag == said:
            return name
    launch.warnings.append(f"--fp8-recipe {said}: the prediction counts current scaling")
    return "current"


def _profile(launch: LaunchSettings) -> str:
    """The profile whose gradients have the format that they are summed and reduced in.

    Source: `validate_args`, core 0.16.1: 32 bits under bf16 unless a flag says otherwise, and 16
    under fp16; without either all is of 32 bits. The second flag is of newer versions.
    """
    wide = launch.on("--accumulate-allreduce-grads-in-fp32")
    short = launch.on("--grad-reduce-in-bf16")
    main = (
        launch.text("--main-grads-dtype", "fp32"),
        launch.text("--megatron-fsdp-main-grads-dtype"),
    )
    if launch.on("--bf16"):
        wide = not short and main[0] == "fp32"
    wide = wide or main[1] == "fp32"
    both = launch.on("--bf16") or launch.on("--fp16")
    return (WIDE_GRADIENTS if wide and both else MEGATRON).name


def _precision(launch: LaunchSettings) -> str:
    """The number format of products; without a flag 32 bits."""
    half = launch.on("--fp16"), launch.on("--bf16")
    if all(half):
        launch.wrong("--fp16", "stands beside --bf16; keep one")
    if launch.text("--fp4-format"):
        return "fp4"
    if launch.text("--fp8-format"):
        return "mxfp8" if launch.text("--fp8-recipe") == "mxfp8" else "fp8"
    return "fp16" if half[0] else "bf16" if half[1] else "fp32"
