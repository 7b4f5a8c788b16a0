"""Launches of TRL, and of programs on transformers' Trainer that Accelerate starts, as plans.

What a program of someone's own does beside its arguments stands in its code: it is taken for one
that does what they say, which is listed as assumed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from planner.frameworks.accelerate.trl.commands import Started, is_program, opened
from planner.frameworks.accelerate.trl.sharding import Sharding, replicas_of, sharding_of
from planner.frameworks.hugging_face.trainer import (
    DEFAULT_ROWS,
    LENGTH,
    MODEL,
    ROWS,
    STEPS,
    adapters_of,
    first_of,
    is_true,
    precision_of,
)
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked, LaunchSettings, chips_of, data_ranks
from planner.frameworks.reading.tuning import length_of, optimizer_named
from planner.plan import Plan

_TRL = re.compile(r"\btrl\b")
_LIKE_TRL = re.compile(r"(?:^|/)(?:run_)?(?:sft|dpo)\.py$")
_LENGTH = 1024  # of TRL's SFTConfig and DPOConfig
_OTHERS = re.compile(r"grpo|ppo|rloo|kto|orpo|reward|(?<![a-z])rm(?![a-z])|gkd|distil|online|cpo")
_KINDS = ("sft", "dpo", "pt")
_REASON = "no part of a plan"


def is_launch(text: str) -> bool:
    """Whether a text has arguments of the Trainer, and something that starts a program."""
    return is_program(text)


def read(text: str, asked: Asked) -> Imported:
    """The plan of a launch.

    Args:
        text: A script, or the YAML file of `--config`.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    started = opened(text, asked)
    launch = LaunchSettings(
        asked, started.values, warnings=list(started.notes), changed=started.shell.changed
    )
    defaults = _has_defaults(launch, started.program)
    pairs = _learns_pairs(launch, started)
    trained = _trained(launch, pairs=pairs, defaults=defaults)
    sharding = sharding_of(launch, started)
    sharding = replace(sharding, kind=launch.fixed("sharding", sharding.kind))
    launch.check()
    model = asked.model_of({}, None, _model(launch))
    length = _length(launch, defaults=defaults)
    rows = launch.whole(ROWS, DEFAULT_ROWS) * (2 if pairs else 1)
    steps = launch.whole(STEPS, 1)
    recomputes = is_true(launch, "gradient_checkpointing", "true" if defaults else "false")
    ranks = _ranks(launch, started, sharding)
    plan = launch.finished(
        Plan(
            **ranks,
            micro_batch=launch.fixed("micro_batch", rows),
            sharding=sharding.kind if ranks["dp"] * ranks["fsdp"] > 1 else "ddp",
            recompute="full" if recomputes or sharding.recomputes else "none",
            offload=sharding.offload,
            split="even",
        )
    )
    job = {
        "seq_len": length,
        "batch_tokens": plan.micro_batch * steps * plan.dp * plan.fsdp * length,
        "precision": precision_of(launch, started.mixed, defaults=defaults),
        "framework": sharding.framework,
        "model": model.name,
        "optimizer": optimizer_named(launch, "optim", "adamw_torch_fused"),
        **trained,
    }
    return launch.imported("trl", plan, job, {}, dict.fromkeys(launch.values, _REASON), ())


def _has_defaults(launch: LaunchSettings, program: str) -> bool:
    """Whether the defaults of TRL hold for what a program is not told."""
    own = not program or bool(_TRL.search(program))
    found = own or bool(_LIKE_TRL.search(program))
    if not own:
        whose = "TRL's" if found else "transformers' Trainer's"
        why = f"its arguments are taken for {whose}; code may do otherwise"
        launch.assume("program", program, why)
    return found


def _trained(launch: LaunchSettings, *, pairs: bool, defaults: bool) -> dict[str, Any]:
    """The kind of job, with its adapters and its reference."""
    found = adapters_of(launch, defaults=defaults)
    if pairs and is_true(launch, "disable_dropout", "true"):
        found.pop("lora_dropout", None)  # trainer/dpo_config.py
    ahead = is_true(launch, "precompute_ref_log_probs")
    reference = "precomputed" if ahead else "adapters" if found else "model"
    return {"job": "finetune", **found, **({"reference": reference} if pairs else {})}


def _learns_pairs(launch: LaunchSettings, started: Started) -> bool:
    """Whether it learns from pairs of sequences; other kinds than texts and pairs are refused."""
    stage = launch.text("stage")
    named = stage or started.program.rpartition("/")[2].lower()
    if _OTHERS.search(named) and named not in _KINDS:
        launch.wrong("program", f"{named} trains with rewards or rollouts, which no plan says")
    by_file = not started.program and any(
        name in launch.values for name in ("beta", "precompute_ref_log_probs", "loss_type")
    )
    return "dpo" in named or by_file


def _model(launch: LaunchSettings) -> str:
    """The model's name, without the one who published it; as it is written, where unknown."""
    name = launch.text(first_of(launch, MODEL)).rstrip("/")
    return name if "$" in name else name.rpartition("/")[2]


def _length(launch: LaunchSettings, *, defaults: bool) -> int:
    """Tokens of a sequence."""
    name = first_of(launch, LENGTH)
    if name not in launch.values and defaults and launch.asked.seq_len is None:
        launch.assume(name, _LENGTH, "the default of TRL")
        return _LENGTH
    return length_of(launch, name)


def _ranks(launch: LaunchSettings, started: Started, sharding: Sharding) -> dict[str, Any]:
    """The sizes of the axes."""
    own = LaunchSettings(launch.asked, started.launcher)
    sizes = {
        axis: launch.fixed(axis, own.whole(f"parallelism_config_{axis}_size", 1))
        for axis in ("tp", "cp")
    }
    processes = own.whole("num_processes") or None
    launch.problems += own.problems
    launch.check()
    chips, said = started.chips, started.said
    if chips is None and processes:
        chips, said = processes, f"num_processes of {started.config}"
    ranks = data_ranks(launch, chips_of(launch, chips, said), sizes)
    replicas = replicas_of(sharding, ranks)
    if ranks % replicas:
        launch.wrong("parallelism_config_dp_replicate_size", f"{replicas} does not divide {ranks}")
        launch.check()
    return {**sizes, "dp": replicas, "fsdp": ranks // replicas}
