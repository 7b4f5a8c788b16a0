"""Reinforcement learning, and preferences without DPO: why not, and what can be planned of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from planner.question.asked.flags import flags_of

_ROLLOUTS: Mapping[str, str] = {
    "rl": "", "rlhf": "", "grpo": "", "dapo": "", "gspo": "", "rloo": "", "reinforce": "",
    "ppo": "; PPO trains a critic as well, a second model of its own",
}  # fmt: skip
"""Words for jobs that train beside rollouts, with what else is said of each."""
_ALONE = (
    "learns from pairs without a reference model: plan it as --job sft, with both sequences of a "
    "pair counted in --batch-tokens"
)
_PAIRS: Mapping[str, str] = {
    "orpo": _ALONE, "simpo": _ALONE, "cpo": _ALONE,
    "ipo": "costs what --job dpo does",
    "kto": "is not planned; --job dpo is the nearest, whose reference model it has too",
}  # fmt: skip
"""Words for jobs that learn from preferences otherwise than DPO, with what is to be asked."""
OTHER_JOBS = (*_ROLLOUTS, *_PAIRS)
"""Words for jobs that are refused, each with its reason."""


def training_part(values: Mapping[str, Any]) -> str:
    """Why such a job is refused, and the command that plans the part that trains.

    Args:
        values: Fields of the question as given, with such a job.
    """
    word = str(values["job"])
    if word.lower() in _PAIRS:
        return f"{word} {_PAIRS[word.lower()]}"
    others = {name: value for name, value in values.items() if name != "job"}
    command = ["planner", "solve", *flags_of(others), "--job", "finetune"]
    lengths = "" if {"seq_len", "lengths"} & {*others} else ", with their tokens as --seq-len"
    return (
        f"{word} trains beside rollouts, which are inference: their time, and how chips are shared "
        f"between the two, are not predicted{_ROLLOUTS[word.lower()]}. What trains is planned as "
        f"full fine-tuning on sequences of prompt and answer{lengths} (a reference model beside it "
        f"takes memory: --max-memory): {shlex.join(command)}"
    )
