"""Texts of settings: sections with a comment, as YAML; and the line that says what made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frozen_records import dataclass
from planner.base.version import __version__
from planner.cost.context import CostModel
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.plan.words import recompute_words, sharding_words, split_words
from strict_yaml.writing import dump

_UNFUSED = "megatron-2022"
"""An era of `planner.assumptions.software.ERAS` without fused attention."""


@dataclass(frozen=True, slots=True)
class Section:
    """Settings that belong together.

    Attributes:
        comment: One line above them; empty: none.
        values: Key to value, in the order of the text.
    """

    comment: str
    values: dict[str, Any]


def plan_summary(launch: Launch) -> str:
    """A plan in one line: its axes above 1 and its other choices."""
    plan = launch.plan
    axes = [f"{axis} {size}" for axis, size in plan.mesh.items() if size > 1] or ["one chip"]
    words = [*axes, f"micro-batch {plan.micro_batch}", sharding_words(plan)]
    if plan.pp > 1:
        chunks = f" x {plan.interleave}" if plan.interleave > 1 else ""
        words += [f"{plan.schedule}{chunks}", f"split {split_words(plan)}"]
    return ", ".join([*words, f"recompute {recompute_words(plan)}"])


def made_by(launch: Launch) -> str:
    """Which planner wrote which plan of which job."""
    job, cost = launch.cost.job, launch.cost
    return (
        f"planner {__version__}: {job.model.name}, {job.global_batch} sequences of "
        f"{launch.seq_len} tokens, {launch.plan.chips} chips of {cost.cluster.name}, "
        f"{plan_summary(launch)}"
    )


def yaml_text(title: str, sections: Sequence[Section]) -> str:
    """The sections as one YAML mapping under a comment."""
    parts = [f"# {title}\n"]
    for section in sections:
        if section.values:
            head = f"# {section.comment}\n" if section.comment else ""
            parts.append(head + dump(section.values, width=96))
    return "\n".join(parts)


def left_to_weights(framework: str, names: Sequence[str]) -> Lost:
    """Settings that only published weights need, by their names in a framework."""
    return Lost(
        "model",
        f"{framework}'s defaults hold for what is no matter of the plan; to load published "
        f"weights, set as in config.json: {', '.join(names)}",
    )


def without_kernel(cost: CostModel, library: str) -> Lost:
    """What is lost where a library has no fused attention for a precision or a chip."""
    short = cost.job.precision != "fp32"
    field, what = ("hardware", cost.chip.title) if short else ("precision", "fp32")
    kept = f"{library} has no fused attention for {what} and keeps the scores"
    return Lost(field, f"{kept}, which the prediction counts with --era {_UNFUSED} only")


def kept_scores(kernel: str) -> tuple[Lost, ...]:
    """What is lost where transformers has no fused kernel (`eager`) for a model's attention."""
    if kernel != "eager":
        return ()
    reason = "transformers keeps the scores of this model's attention, for want of a kernel"
    return (Lost("model", reason),)


def needed_package(script: str, kernel: str) -> tuple[Lost, ...]:
    """What a script needs beside transformers for a kernel of attention."""
    if kernel != "flash_attention_2":
        return ()
    return (Lost("model", f"{script} needs the package flash-attn for this attention"),)
