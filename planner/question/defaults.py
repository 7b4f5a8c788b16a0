"""What a question leaves open: the value that is taken, listed with the reason for it."""

from __future__ import annotations

from collections.abc import Collection

from hardware_db import Chip, Cluster
from models_db import Model
from planner.assumptions.software import FrameworkProfile
from planner.base.errors import InputError
from planner.base.units import plural
from planner.cost.job import sequences_in
from planner.frameworks.profiles import default_framework, framework_named
from planner.frameworks.registry import framework_of_preset
from planner.frameworks.targets import Target
from planner.question.asked.usual import BATCH_MI, BATCH_TOKENS

_FORMATS = ("bf16", "fp16", "fp32", "int8")  # preferred first

Defaults = list[tuple[str, str, str]]  # (name, value, reason)


def note_network(cluster: Cluster, defaults: Defaults) -> None:
    """Lists the network that a user's chip brings along where no cluster was given."""
    chip = cluster.chip
    if cluster.name == chip.name != chip.default_cluster:
        reason = f"levels of the default_cluster of {chip.name}; give a cluster file to change them"
        defaults.append(("network", chip.default_cluster, reason))


def seq_len_of(asked: int | None, model: Model, defaults: Defaults) -> int:
    """Tokens per sequence."""
    if asked is not None:
        return asked
    defaults.append(("seq-len", f"{model.seq_len:,}", f"what {model.name} was trained with"))
    return model.seq_len


def batch_of(
    batch_tokens: float | None,
    seq_len: int,
    chips: int,
    defaults: Defaults,
    *,
    evenly: bool,
) -> tuple[int, float]:
    """What a step is dealt out in, and tokens of each: sequences, or one share per chip.

    Args:
        batch_tokens: As asked for, or None.
        seq_len: Tokens per sequence.
        chips: Chips of the job, which share a batch out evenly.
        defaults: Grows by what was not asked for.
        evenly: Whether chips share a step's tokens evenly, whatever the sequences.

    Raises:
        InputError: The batch is not a whole number of sequences, or less than a token per chip.
    """
    if not evenly:
        return sequences_of(batch_tokens, seq_len, defaults), seq_len
    if batch_tokens is None:
        batch_tokens = BATCH_TOKENS
        defaults.append(("batch-tokens", f"{BATCH_TOKENS:,} tokens", f"{BATCH_MI} Mi tokens"))
    if batch_tokens < chips:
        raise InputError(
            f"batch-tokens: {batch_tokens:,.15g} tokens are less than one for each of "
            f"{chips:,} chips; nearest: {chips:,}"
        )
    return chips, batch_tokens / chips


def sequences_of(batch_tokens: float | None, seq_len: int, defaults: Defaults) -> int:
    """Sequences per step.

    Raises:
        InputError: The batch that was asked for is not a whole number of sequences.
    """
    if batch_tokens is not None:
        return sequences_in(batch_tokens, seq_len)
    sequences = max(1, round(BATCH_TOKENS / seq_len))
    text = f"{sequences * seq_len:,} tokens = {plural(sequences, 'sequence')}"
    defaults.append(("batch-tokens", text, f"{BATCH_MI} Mi tokens in whole sequences"))
    return sequences


def framework_of(
    asked: str | None,
    chip: Chip,
    defaults: Defaults,
    preset: str = "calibrated",
    targets: Collection[Target] = (),
) -> FrameworkProfile:
    """The framework whose memory profile and rules apply; a textbook's preset has its own.

    What is to run the plan says which one, where all of that is of one framework.

    Raises:
        InputError: The name is unknown.
    """
    if asked is not None:
        return framework_named(asked)
    if (own := framework_of_preset(preset)) is not None:
        profile = own.profiles[0]
        defaults.append(("framework", profile.name, own.preset_reason))
        return profile
    runs = {target.framework for target in targets}
    if len(runs) == 1:
        (name,) = runs
        defaults.append(
            ("framework", name, f"that of {' and '.join(target.name for target in targets)}")
        )
        return framework_named(name)
    framework = default_framework(chip.vendor)
    usual = "of no vendor" if chip.vendor == "none" else f"usual on {chip.vendor} chips"
    defaults.append(("framework", framework.name, usual))
    return framework


def era_of(asked: str | None, framework: FrameworkProfile, chip: Chip, defaults: Defaults) -> str:
    """The software era of the time constants; Trainium has its own compiler."""
    if asked is not None:
        return asked
    era = "neuron" if chip.vendor == "AWS" else framework.era
    defaults.append(("era", era, f"software era of {framework.name}"))
    return era


def precision_of(asked: str | None, chip: Chip, defaults: Defaults) -> str:
    """The format of the matrix multiplications."""
    if asked is not None:
        return asked
    precision = next((dtype for dtype in _FORMATS if dtype in chip.peak_flop_per_s), "bf16")
    defaults.append(("precision", precision, "widest matrix format of the chip"))
    return precision
