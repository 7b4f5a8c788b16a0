"""Jobs that recover from peers, or shrink: the closed form beside runs played event by event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.units import HOUR_S
from planner.cost.goodput.goodput import Goodput, Pace, goodput, usual_upkeep
from planner.cost.goodput.peers import PeerCopies
from planner.cost.goodput.segments import Checkpointing
from planner.cost.goodput.shrinking import Sizes, shrinking
from planner.evidence.goodput.recovery import (
    PeersRun,
    ShrinkingRun,
    peers_played,
    shrinking_played,
)

_THETA_S = 50_700 * HOUR_S
_RANKS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A job that is played.

    Attributes:
        words: What is special about it.
        chips: Of the job.
        closed: Its goodput.
        play: Goodput of a run of so many failures, by a seed.
    """

    words: str
    chips: int
    closed: float
    play: Callable[[int, int], float]


def recoveries() -> tuple[Played, ...]:
    """A job with a slow store and copies with peers, and one that shrinks beside a few spares."""
    return _with_peers(16_384), _that_shrinks(16_384)


def _with_peers(chips: int) -> Played:
    upkeep = usual_upkeep()
    peers = PeerCopies(covered=0.77, stall_s=2.0, write_s=25.0, restart_s=300.0)
    saved = Checkpointing(stall_s=2.0, write_s=620.0)
    pace = Pace(chips=chips, step_time_s=5.0, steps=np.inf, saved=saved, peers=peers)
    found = goodput(_THETA_S, pace, upkeep)
    run = PeersRun(
        mtbf_s=_THETA_S / chips, covered=float(peers.covered),
        work_s=5.0 * float(found.steps_between), stall_s=2.0, write_s=25.0, store_write_s=620.0,
        copies=int(found.store_every), near_s=upkeep.detection_s + 300.0,
        far_s=upkeep.detection_s + upkeep.restart_s,
    )  # fmt: skip
    return Played(
        words="copies with peers, written to the store in 620 s",
        chips=chips,
        closed=float(found.work),
        play=lambda failures, seed: peers_played(run, failures, seed).work,
    )


def _that_shrinks(chips: int) -> Played:
    """Half of the data ranks, then a quarter, then none: the batch is divided by powers of two."""
    spares, upkeep = 12, usual_upkeep()
    ranks = np.array([_RANKS, *[_RANKS // 2] * (_RANKS // 2), *[_RANKS // 4] * (_RANKS // 4)])
    sizes = Sizes(chips=chips * ranks / _RANKS, step_time_s=5.0 * _RANKS / ranks)
    saved = Checkpointing(stall_s=5.0, write_s=30.0)
    pace = Pace(chips=chips, step_time_s=5.0, steps=np.inf, saved=saved)
    closed = shrinking(_THETA_S, pace, replace(upkeep, spares=spares), sizes)
    each: Goodput = goodput(
        _THETA_S, replace(pace, chips=sizes.chips, step_time_s=sizes.step_time_s), upkeep
    )
    run = ShrinkingRun(
        theta_s=_THETA_S, chips=tuple(sizes.chips), step_s=tuple(sizes.step_time_s),
        work_s=tuple(each.steps_between * sizes.step_time_s), stall_s=5.0, write_s=30.0,
        down_s=upkeep.detection_s + upkeep.restart_s, restart_s=upkeep.restart_s,
        node_share=upkeep.node_share, repair_s=upkeep.repair_s, spares=spares,
    )  # fmt: skip
    return Played(
        words=f"shrinks beside {spares} spare nodes", chips=chips, closed=float(closed.work),
        play=lambda failures, seed: shrinking_played(run, failures, seed),
    )  # fmt: skip
