r"""Checkpoints in two places: often in the memory of a peer, now and then in the store.

Each rank copies its state to its host, which stops the job for C, and the host sends it to one of
another failure domain, which has it W seconds later (Wang et al., GEMINI, SOSP 2023,
doi:10.1145/3600006.3613145). A share f of the failures takes out one domain: its state comes back
from the peers. After the others the job starts from the store, which takes every n-th copy from the
hosts, beside the work, and has it k copies later.

With T of work between two copies, s = T + C, failures at the rate L = 1 / M, and downtimes d of a
covered and D of another failure (detection and restart), a copy that succeeds takes in the mean

    t = a + q f r / (1 - f p)       a, q: 1 - exp(-L s) over L, and alone
                                    r, p: the same of u = d + s + W, a try after a covered failure

and ends in the store instead with g = q (1 - f) + q f p (1 - f) / (1 - f p). From there the first
copy takes V = (exp(L (D + s + W)) - 1) / L: until it is whole, any failure leads to the store. With
h = 1 - g the n copies of a cycle, each of them a step of a Markov chain, take

    E = (h^-n - 1) h^(1 - k) (t / g + V),    n t where nothing ends in the store,

with f = 0 and n = 1 that of `segments`. Where failures do not strike during d and D, these are
added to the tries. For k that is no whole number the power of h between two of them is taken; k
counts copies, so that a write to the store waits while the job comes back from peers. That a second
failure takes out the peer as well before there are two copies again is left out: it would have to
be that one among all domains of the job.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.goodput.segments import (
    Checkpointing,
    Interruptions,
    Shares,
    best_work_s,
    does_end,
)

_AROUND = np.geomspace(0.05, 20.0, 61)
_CLOSER = np.geomspace(0.9, 1.1, 21)
_SHARES = ("work", "stalls", "down", "lost", "failures_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerCopies:
    """Copies in the memory of peers; each a number or (n,).

    Attributes:
        covered: f: share of the failures after which the state comes back from them.
        stall_s: C: for how long a copy stops the job.
        write_s: W: until the peer has it, after that.
        restart_s: From the detection of a covered failure until the job works again.
    """

    covered: FloatArray | float
    stall_s: FloatArray | float
    write_s: FloatArray | float
    restart_s: FloatArray | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """(n,) how often plans save.

    Attributes:
        steps: Steps between two copies to a peer.
        copies: Copies between two checkpoints in the store.
        shares: Where the time goes.
    """

    steps: FloatArray
    copies: FloatArray
    shares: Shares


def best_rhythm(
    step_s: FloatArray | float,
    down: Interruptions,
    saved: Checkpointing,
    peers: PeerCopies,
    most: FloatArray | float = np.inf,
) -> Rhythm:
    """(n,) steps between two copies to a peer that make a run shortest, of a fine grid.

    The store takes a copy as soon as it has the one before: it does not stop the job.

    Args:
        step_s: Of the plans.
        down: What a failure costs that is not covered.
        saved: Of a checkpoint in the store; its stall is that of the copy.
        peers: The copies.
        most: Steps of the whole runs.
    """
    step = np.asarray(step_s, dtype=np.float64)[..., None]
    often = replace(down, mtbf_s=np.divide(down.mtbf_s, np.maximum(peers.covered, 0.05)))
    start = best_work_s(often, Checkpointing(stall_s=peers.stall_s, write_s=peers.write_s))
    work = np.where(np.isfinite(start), start, 1e12)[..., None]
    for grid in (_AROUND, _CLOSER):
        tried = np.maximum(np.rint(work * grid / step), _fewest(step, peers))
        tried = np.minimum(tried, np.maximum(_wide(most), 1.0))
        work = _best(tried, step, down, saved, peers) * step
    steps = work / step
    shares, copies = _spent(steps, step, down, saved, peers)
    return Rhythm(
        steps=steps[..., 0],
        copies=copies[..., 0],
        shares=Shares(**{name: getattr(shares, name)[..., 0] for name in _SHARES}),
    )


def _wide(values: FloatArray | float) -> FloatArray:
    """With an axis for the lengths that are tried."""
    return np.asarray(values, dtype=np.float64)[..., None]


def _fewest(step: FloatArray, peers: PeerCopies) -> FloatArray:
    """Steps in which a peer takes a copy in: two are never under way at once."""
    return np.maximum(np.ceil(_wide(peers.write_s) / step), 1.0)


def _best(
    tried: FloatArray,
    step: FloatArray,
    down: Interruptions,
    saved: Checkpointing,
    peers: PeerCopies,
) -> FloatArray:
    """(n, 1) the number of steps with the largest share of work."""
    work = _spent(tried, step, down, saved, peers)[0].work
    return np.take_along_axis(tried, work.argmax(axis=-1)[..., None], axis=-1)


def _spent(
    steps: FloatArray,
    step: FloatArray,
    down: Interruptions,
    saved: Checkpointing,
    peers: PeerCopies,
) -> tuple[Shares, FloatArray]:
    """(n, k) where the time goes, and copies between two checkpoints in the store."""
    wide = PeerCopies(**{name: _wide(getattr(peers, name)) for name in PeerCopies.__slots__})
    other = replace(
        down, mtbf_s=_wide(down.mtbf_s), detection_s=_wide(down.detection_s),
        restart_s=_wide(down.restart_s),
    )  # fmt: skip
    store_s = _wide(saved.write_s)
    cycle = steps * step + wide.stall_s
    copies = np.maximum(np.ceil(store_s / (steps * step)), 1.0)
    late = np.minimum(np.maximum(store_s - wide.write_s, 0.0) / cycle, copies)
    return shares_of(steps * step, copies, late, other, wide), copies + np.zeros_like(steps)


@dataclass(frozen=True, slots=True)
class _Tries:
    """Seconds of a try in the mean, and the chance that a failure ends it."""

    seconds: FloatArray
    fails: FloatArray


def _tries(up_s: FloatArray, away_s: FloatArray | float, down: Interruptions) -> _Tries:
    """Tries of so long a time up, after so long a downtime."""
    mtbf = np.asarray(down.mtbf_s, dtype=np.float64)
    exposed = up_s + away_s if down.while_down else up_s
    fails = -np.expm1(-exposed / mtbf)
    return _Tries(mtbf * fails + (0.0 if down.while_down else np.asarray(away_s)), fails)


def shares_of(
    work_s: FloatArray,
    copies: FloatArray,
    late: FloatArray,
    down: Interruptions,
    peers: PeerCopies,
) -> Shares:
    """(n,) where the time of a cycle goes, of `copies` copies with `work_s` of work before each.

    Args:
        work_s: T.
        copies: n: copies between two checkpoints in the store.
        late: k: copies until the store has one.
        down: What a failure costs that is not covered; finite M.
        peers: The copies.
    """
    f, stall = np.asarray(peers.covered), np.asarray(peers.stall_s)
    up = work_s + stall
    again = up + peers.write_s
    first = _tries(up, 0.0, replace(down, while_down=True))
    near = np.add(down.detection_s, peers.restart_s)
    after = _tries(again, near, down)
    far = _tries(again, down.down_s, down)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        retries = first.fails * f / (1.0 - f * after.fails)
        one = first.seconds + retries * after.seconds
        lost = (first.fails + retries * after.fails) * (1.0 - f)
        to_store = far.seconds / (1.0 - far.fails)
        exits = (np.power(1.0 - lost, -copies) - 1.0) * np.power(1.0 - lost, 1.0 - late)
        made = np.where(lost > 0.0, exits / lost, copies)
        spent = made * one + exits * to_store
        restarts, reloads = made * retries, exits / (1.0 - far.fails)
        away = restarts * _away(near, down) + reloads * _away(down.down_s, down)
        parts = [copies * work_s / spent, copies * stall / spent, away / spent]
        rate = (restarts + reloads) / spent
    ends = does_end(copies * work_s, spent)
    work, stalls, idle = (np.where(ends, part, 0.0) for part in parts)
    idle = np.where(ends, idle, 1.0)
    failures = np.where(ends, rate, 1.0 / np.asarray(down.mtbf_s))
    return Shares(
        work=work, stalls=stalls, down=idle, lost=np.maximum(1.0 - work - stalls - idle, 0.0),
        failures_per_s=failures,
    )  # fmt: skip


def _away(seconds: FloatArray, down: Interruptions) -> FloatArray:
    """Seconds of a downtime in the mean, which the next failure may cut short."""
    if not down.while_down:
        return seconds
    mtbf = np.asarray(down.mtbf_s, dtype=np.float64)
    away: FloatArray = -mtbf * np.expm1(-seconds / mtbf)
    return away
