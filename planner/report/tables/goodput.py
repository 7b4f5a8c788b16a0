"""Goodput of a whole training run, in words."""

from __future__ import annotations

from planner.base.units import (
    DAY_S,
    plain,
    plural,
    show_bytes,
    show_days,
    show_percent,
    show_seconds,
)
from planner.results.parts import RunGoodput, TrainingRun
from planner.results.recovery import Recovery

_FEW = 3
_LEAST = 1e-7


def days_words(run: TrainingRun) -> str:
    """`61 days (80 %: 57 to 66)`."""
    if run.days is None:
        return "hardly ever ends: failures come before the work between two checkpoints is done"
    time = show_days(run.days)
    if run.days_low is None:
        return time
    high = "no end" if run.days_high is None else _number(run.days_high, run.days)
    return f"{time} (80 %: {_number(run.days_low, run.days)} to {high})"


def deadline_rows(run: TrainingRun) -> list[tuple[str, str]]:
    """How likely the run is to be within its deadline, as (name, words)."""
    if run.deadline_days is None or run.deadline_chance is None:
        return []
    chance = show_percent(min(max(run.deadline_chance, 0.001), 0.999))
    return [("deadline", f"within {show_days(run.deadline_days)} with a chance of {chance}")]


def days_only(run: TrainingRun) -> str:
    """`61`, or `3 h`, without its interval; `-` where the run hardly ever ends."""
    return "-" if run.days is None else _number(run.days, run.days)


def _number(days: float, beside: float) -> str:
    """In days where the figure beside it is."""
    return plain(days) if beside >= 1 else show_seconds(days * DAY_S)


def half_words(chips: float) -> str:
    """Where goodput is below one half: `above 3,201 chips`."""
    return f"above {plain(chips)} chips" if chips > 1 else "on any number of chips"


def goodput_rows(run: TrainingRun) -> list[tuple[str, str]]:
    """How much of the time counts and what takes the rest, as (name, words)."""
    found = run.goodput
    if found is None:
        return _unknown_rows(run)
    every = f"every {show_seconds(found.checkpoint_every_s)}"
    goodput = show_percent(found.share)
    if found.chips_at_half is not None:
        goodput += f", below 50 % {half_words(found.chips_at_half)}"
    return [
        ("if nothing failed", show_days(run.ideal_days)),
        ("goodput", goodput),
        ("lost time", _lost_words(found)),
        ("failures", _failure_words(found)),
        ("chip-hours per failure", _rate_words(found)),
        ("checkpoint", f"{every} ({plural(found.checkpoint_steps, 'step')})"),
        ("checkpoints", _checkpoint_words(found)),
        *_recovery_rows(found.recovery),
        ("spare nodes", _spare_words(found)),
        ("spares", _spares_words(found)),
    ]


def unfailing_share(run: TrainingRun) -> float | None:
    """What slow chips and maintenance take of a run that never fails; None: nothing."""
    if run.goodput is not None or run.days is None or run.days <= run.ideal_days:
        return None
    return 1.0 - run.ideal_days / run.days


def _unknown_rows(run: TrainingRun) -> list[tuple[str, str]]:
    taken = unfailing_share(run)
    if run.break_even_chip_hours is None and taken is None:
        return []
    edge = "at any rate"
    if run.break_even_chip_hours is not None:
        hours = plain(run.break_even_chip_hours)
        edge = f"where a failure comes in less than {hours} chip-hours"
    rows = [
        (
            "unknown",
            "goodput unknown: nobody published how often such chips fail (below 90 % "
            f"{edge}; --chip-hours-per-failure)",
        )
    ]
    if taken is not None:
        rows[:0] = [
            ("lost time", f"slow chips and planned maintenance {show_percent(taken)}"),
            ("without these", show_days(run.ideal_days)),
        ]
    if (half := run.half_chips) is not None:
        words = f"{half.chips:,} chips are as fast where one comes in {plain(half.chip_hours)}"
        rows.append(("half of the chips", f"{words} chip-hours, and faster below"))
    other = run.another_plan_chip_hours
    words = "none of the front is faster at any rate"
    if other is not None:
        words = f"one of the front is faster below {plain(other)} chip-hours per failure"
    return [*rows, ("other plans", words)]


def _lost_words(found: RunGoodput) -> str:
    parts = (
        ("detection and restart", found.down),
        ("work done again", found.lost),
        ("checkpoints", found.stalls),
        ("slow chips", found.stragglers),
        ("waiting for spares", found.waits),
        ("fewer chips", found.smaller),
        ("planned maintenance", found.maintenance),
    )
    return ", ".join(f"{name} {show_percent(share)}" for name, share in parts if share > _LEAST)


def _failure_words(found: RunGoodput) -> str:
    each = f"one every {show_seconds(found.mtbf_s)} in the mean"
    return each if found.failures is None else f"{plain(found.failures)} expected, {each}"


def _rate_words(found: RunGoodput) -> str:
    words = plain(found.chip_hours_per_failure)
    if found.chip_hours_low < found.chip_hours_high:
        words += f" (80 %: {plain(found.chip_hours_low)} to {plain(found.chip_hours_high)}; "
        words += f"goodput {show_percent(found.low)} to {show_percent(found.high)})"
    return f"{words}, {found.rate}"


def _checkpoint_words(found: RunGoodput) -> str:
    words = f"{show_bytes(found.checkpoint_bytes)}, stops the job for "
    words += show_seconds(found.checkpoint_stall_s)
    if (peers := found.recovery.peers) is not None:
        words += f", with a peer in {show_seconds(peers.write_s)}; in the store every "
        words += f"{plural(found.recovery.store_steps, 'step')}"
    if found.checkpoint_write_s:
        words += f", written in {show_seconds(found.checkpoint_write_s)} beside the work"
    return words


def _recovery_rows(found: Recovery) -> list[tuple[str, str]]:
    """From where the state comes back, and what the job does with fewer nodes."""
    rows = []
    if (form := found.writing) is not None:
        words = f"by {plural(form.ranks, 'rank')}, {show_bytes(form.bytes_each)} each ({form.form})"
        rows.append(("written", words))
        if not form.fits:
            needs, has = show_bytes(form.host_bytes), show_bytes(form.host_room_bytes)
            words = f"no room for checkpoints: a host needs {needs} of memory for them, of {has}"
            rows.append(("no room", words))
    if (peers := found.peers) is not None:
        words = f"after {show_percent(peers.covered)} of the failures, with a restart of "
        words += f"{show_seconds(peers.restart_s)}; the copies take {show_bytes(peers.host_bytes)} "
        rows.append(("from peers", f"{words}of the host's memory per chip"))
    if found.no_peers:
        rows.append(("no peers", f"no copies with peers, counted as async: {found.no_peers}"))
    if found.ranks:
        rows.append(("shrinks", _shrinking_words(found)))
    if found.not_shrunk:
        rows.append(("not shrunk", f"waits for repairs, for it cannot shrink: {found.not_shrunk}"))
    return rows


def _shrinking_words(found: Recovery) -> str:
    """`32 of 64 data ranks while 1 to 32 nodes are away, 16 up to 48`."""
    most = dict.fromkeys(found.ranks, 0) | {ranks: away for away, ranks in enumerate(found.ranks)}
    whole, *sizes = most
    if not sizes:
        return f"waits: there is no size below {whole:,} data ranks"
    first = (
        f"{sizes[0]:,} of {whole:,} data ranks while 1 to {most[sizes[0]]:,} {found.domain}s are"
    )
    rest = [f"{one:,} up to {most[one]:,}" for one in sizes[1:_FEW]]
    return ", ".join([f"{first} away", *rest]) + (", ..." if len(sizes) > _FEW else "")


def _spare_words(found: RunGoodput) -> str:
    return f"{found.spares_wanted if found.spares is None else found.spares:,}"


def _spares_words(found: RunGoodput) -> str:
    chance = show_percent(found.spares_chance)
    words = f"{found.spares_wanted:,} are enough at any time with a chance of {chance}"
    if (nodes := found.recovery.domain_nodes) > 1:
        whole = plural(found.spares_wanted // nodes, found.recovery.domain)
        words += f": {whole} of {nodes} nodes"
    return words
