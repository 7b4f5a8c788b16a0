"""Chip counts and batches as people type them: `64,512`, `64..4096`, `16x16x16`, `1Mi..4Mi`."""

from __future__ import annotations

from collections.abc import Sequence

from hardware_db import Cluster, HardwareError
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.units import parse_count, parse_whole, texts_of
from planner.cost.context import CostModel
from planner.cost.job import LONGEST_SEQUENCE, sequences_in
from planner.machine.slices import SHAPE, slice_chips
from planner.studies.feasibility.fitted import LARGEST_TOKENS

DEFAULT_CHIPS = 4096
_MOST = 64  # values of one list


def chips_of(given: object, cluster: Cluster) -> tuple[int, ...]:
    """The chip counts that are meant, ascending.

    A range goes by doubling, from the smallest count in it that the cluster gives.

    Args:
        given: As typed; see the module.
        cluster: What they are counts of.

    Raises:
        InputError: A count is not a positive whole number, or the cluster cannot give it; names
            the nearest that it can.
    """
    counts: set[int] = set()
    for text in texts_of(given):
        if ".." in text:
            counts |= set(_doubling(text, cluster))
        elif SHAPE.fullmatch(text):
            counts.add(slice_chips(text, cluster))
        else:
            counts.add(_count(text, cluster))
    return _few(sorted(counts), "chips")


def _few(values: Sequence[int], what: str) -> tuple[int, ...]:
    if len(values) > _MOST:
        raise InputError(f"{what}: {len(values):,} values; at most {_MOST} are compared at once")
    return tuple(values)


def _count(text: str, cluster: Cluster) -> int:
    number = parse_whole(text, "chips")
    if number < 1:
        raise InputError(
            f"chips: {text}: must be at least 1; nearest: {cluster.chip_counts(64)[0]}"
        )
    try:
        return cluster.scale(number).chips
    except HardwareError as error:
        raise InputError(str(error)) from error


def _ends(text: str, what: str) -> tuple[str, str]:
    low, _, high = text.partition("..")
    if not low.strip() or not high.strip():
        raise InputError(f"{what}: {shown(text)} is not a range; write it like 64..4096")
    return low, high


def _doubling(text: str, cluster: Cluster) -> list[int]:
    low, high = (parse_whole(end, "chips") for end in _ends(text, "chips"))
    if not 1 <= low <= high:
        raise InputError(f"chips: {text}: a range goes from a positive count up, e.g. 64..4096")
    possible = cluster.chip_counts(high)
    inside = [count for count in possible if count >= low]
    if not inside:
        near = possible[-1] if possible else cluster.chip_counts(cluster.max_chips)[0]
        raise InputError(f"chips: {cluster.name} gives no count in {text}; nearest: {near:,}")
    known, counts = set(inside), [inside[0]]
    while (following := counts[-1] * 2) <= high:
        counts.append(following)
    return [count for count in counts if count in known]


def batches_of(given: object) -> tuple[float, ...]:
    """The batches that are meant, ascending, in tokens; a range goes by doubling.

    Raises:
        InputError: A batch is not a positive number.
    """
    batches: set[float] = set()
    for text in texts_of(given):
        if ".." in text:
            low, high = (parse_count(end, "batch-tokens") for end in _ends(text, "batch-tokens"))
            if not 0 < low <= high:
                raise InputError(
                    f"batch-tokens: {text}: a range goes from a positive batch up, e.g. 1Mi..16Mi"
                )
            batch = low
            while batch <= high and len(batches) <= _MOST:
                batches.add(batch)
                batch *= 2
        else:
            batches.add(parse_count(text, "batch-tokens"))
    if wrong := [batch for batch in sorted(batches) if not batch >= 1]:
        raise InputError(
            f"batch-tokens: {wrong[0]:.15g}: must be at least 1, a token for each chip; nearest: 1"
        )
    if len(batches) > _MOST:
        raise InputError(f"batch-tokens: more than {_MOST} values; fewer are compared at once")
    return tuple(sorted(batches))


def default_chips(cluster: Cluster) -> int:
    """The count taken where none is asked for: 4,096, or the largest below it."""
    return max(cluster.chip_counts(DEFAULT_CHIPS))


def check_batch(model: CostModel, batch: float, counts: tuple[int, ...]) -> None:
    """Refuses a batch of less than a token per chip, or of a part of a sequence.

    Raises:
        InputError: See above.
    """
    for chips in counts:
        if batch < chips:
            raise InputError(
                f"batch-tokens: {batch:,.15g} tokens are less than one for each of {chips:,} "
                f"chips; nearest: {chips:,}"
            )
        if model.assumptions.token_granularity and batch > chips * LONGEST_SEQUENCE:
            most = chips * LONGEST_SEQUENCE
            raise InputError(
                f"batch-tokens: {batch:,.15g} tokens are more than {LONGEST_SEQUENCE:,} for each "
                f"of {chips:,} chips; nearest: {most:,}"
            )
    if not model.assumptions.token_granularity:
        sequences_in(batch, round(model.job.seq_len))
        if batch > LARGEST_TOKENS:
            raise InputError(
                f"batch-tokens: {batch:,.15g}: at most 256 Mi tokens are looked at under "
                f"{model.assumptions.name}; nearest: {LARGEST_TOKENS:,}"
            )
