"""Configurations that fine-tune, as jobs: what those of Axolotl and torchtune have in common."""

from __future__ import annotations

from typing import Any

from planner.assumptions.optimizers import ADAM
from planner.base.vocabulary import MATRICES
from planner.frameworks.reading.settings import LaunchSettings

_MODULES = {
    "q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o", "out_proj": "o",
    "gate_proj": "gate", "up_proj": "up", "down_proj": "down", "fc1": "up", "fc2": "down",
}  # fmt: skip
_EIGHT_BITS = "adam-8bit"
_LENGTH = 2048  # tokens, where a configuration says none: a guess


def adapted(
    *, rank: int, targets: tuple[str, ...], dropout: float, dora: bool, quantized: bool
) -> dict[str, Any]:
    """Fields of a job that trains adapters.

    Args:
        rank: Of the adapters.
        targets: Matrices beside which they stand (`planner.base.vocabulary.MATRICES`).
        dropout: Before them, 0 to 1.
        dora: Whether they are those of DoRA.
        quantized: Whether frozen weights have 4 bits, as NF4.
    """
    found: dict[str, Any] = {"job": "lora", "lora_rank": rank, "lora_targets": targets}
    if dropout:
        found["lora_dropout"] = dropout
    if dora:
        found["adapter"] = "dora"
    if quantized:
        found["frozen_weights"] = "nf4"
    return found


def matrices_of(launch: LaunchSettings, setting: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Matrices with adapters by the names that transformers gives modules, in a layer's order."""
    launch.taken.add(setting)
    found = {_MODULES[name] for name in names if name in _MODULES}
    if unknown := [name for name in names if name not in _MODULES]:
        launch.warnings.append(f"{setting}: adapters beside {unknown[0]} are not counted")
    if not found:
        launch.wrong(setting, f"names none of {', '.join(_MODULES)}")
        return MATRICES
    return tuple(name for name in MATRICES if name in found)


def length_of(launch: LaunchSettings, setting: str) -> int:
    """Tokens per sequence: what a setting says, else what is asked, else an assumption."""
    found = launch.whole(setting)
    asked = launch.asked.seq_len
    if asked is not None and found not in (0, asked):
        launch.wrong(setting, f"says {found:,} tokens; change it there, not with --seq-len")
    if found or asked:
        return found or int(asked or 0)
    if not launch.asked.assumes:
        launch.wrong(setting, "is missing; say the length of sequences with --seq-len")
        launch.check()
    words = "not said, texts have their own lengths; --seq-len names another"
    launch.assume(setting, _LENGTH, words)
    return _LENGTH


def optimizer_named(launch: LaunchSettings, setting: str, default: str) -> str | None:
    """The optimizer by the words of its name; None: Adam in 32 bits, as by default."""
    name = launch.text(setting, default)
    low = name.lower()
    for word in ("muon", "lion", "adafactor"):
        if word in low:
            return word
    if "adam" in low and ("8bit" in low or "8_bit" in low):
        return _EIGHT_BITS
    if "adam" not in low or "4bit" in low:
        launch.warnings.append(f"{setting}: the answer counts {ADAM}, not {name}")
    return None
