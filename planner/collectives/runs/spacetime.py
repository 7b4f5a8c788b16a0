"""A run of a schedule as rows of occupied lanes: what the space-time picture draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.collectives.runs.simulate import Simulation
from solvers.collectives.checking import goal_for

ROWS = ("nodes", "links")
_PORT_TRACKS = 12
"""Lanes of a node up to which each has a track of its own."""
_SAME_TIME = 1e-9
"""Share of the run within which two moments are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Lanes of one link that are busy with chunks of one origin.

    Attributes:
        row: Of `SpaceTime.rows`.
        track: The first of its tracks within the row, from 0.
        tracks: How many neighbouring tracks.
        begin_s, end_s: When.
        source, target: Nodes.
        origin: Index into `SpaceTime.origins`.
        chunks: Numbers of the chunks.
        step: Of the schedule.
    """

    row: int
    track: int
    tracks: int
    begin_s: float
    end_s: float
    source: int
    target: int
    origin: int
    chunks: tuple[int, ...]
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceTime:
    """Rows of spans.

    Attributes:
        simulation: What was run.
        by: nodes or links; a row shows what is sent from its node, or over its link.
        rows: Words of each row, also of those from which nothing is sent.
        tracks: Of each row: lanes, or sends at once where the lanes of a node are many.
        origins: Words of where chunks come from (of sums: where they go); chunks themselves where
            all have the same.
        origin_kind: What these words name, e.g. `chip`.
        spans: Sorted by row, begin and track.
    """

    simulation: Simulation
    by: str
    rows: tuple[str, ...]
    tracks: tuple[int, ...]
    origins: tuple[str, ...]
    origin_kind: str
    spans: tuple[Span, ...]


def spacetime(simulation: Simulation, by: str = "nodes") -> SpaceTime:
    """Puts every hop of a run on a track.

    Args:
        simulation: The run.
        by: One of `ROWS`.

    Raises:
        InputError: Rows are neither.
    """
    if by not in ROWS:
        raise InputError(f"rows: {not_one_of(by, ROWS)}")
    machine = simulation.program.machine
    network = simulation.program.wires.network
    links = network.links
    kind, origins, origin_of = _origins(simulation)
    hops: dict[int, list[int]] = defaultdict(list)
    for hop, link in enumerate(simulation.program.link):
        hops[links[link][0] if by == "nodes" else link].append(hop)
    count = network.nodes if by == "nodes" else len(links)
    tracks, spans = [], []
    lanes = network.lanes
    pack = any(sum(lanes[link] for link in _links(simulation, own)) > _PORT_TRACKS
               for own in hops.values())  # fmt: skip
    for row in range(count):
        track_of, most = _tracks(simulation, hops[row], pack=pack)
        tracks.append(most)
        spans += _spans(simulation, row, hops[row], track_of, origin_of)
    names = machine.names
    words = names if by == "nodes" else tuple(f"{names[u]} to {names[v]}" for u, v in links)
    return SpaceTime(
        simulation=simulation, by=by, rows=tuple(words), tracks=tuple(tracks), origins=origins,
        origin_kind=kind, spans=tuple(spans),
    )  # fmt: skip


def _origins(simulation: Simulation) -> tuple[str, tuple[str, ...], list[int]]:
    """What origins are, their words, and that of every chunk."""
    program = simulation.program
    schedule, names = program.schedule, program.machine.names
    if {"broadcast", "reduce", "allreduce"} & {schedule.collective} and not schedule.local_reduce:
        parts = len(names) if schedule.collective == "allreduce" else schedule.chunks
        each = max(1, schedule.chunks // parts)
        numbers = [chunk // each for chunk in range(schedule.chunks)]
        words = [f"{at}" for at in range(1 + max(numbers))]
        return "part" if schedule.collective == "allreduce" else "chunk", tuple(words), numbers
    goal = goal_for(schedule, len(names))
    ends = goal.final if goal.combined else goal.initial
    if schedule.collective == "scatter":
        ends = goal.final
    return ("target" if ends is goal.final else "origin"), names, [min(end) for end in ends]


def _links(simulation: Simulation, hops: Sequence[int]) -> list[int]:
    """The links of some hops."""
    return sorted({simulation.program.link[hop] for hop in hops})


def _tracks(
    simulation: Simulation, hops: Sequence[int], *, pack: bool
) -> tuple[dict[int, int], int]:
    """A track of every hop of a row, and how many tracks the row has.

    Each lane of a link has its own; with `pack`, where nodes have more lanes than can be told
    apart, a hop takes the first track that is free.
    """
    program = simulation.program
    lanes = program.wires.network.lanes
    if pack:
        return _packed(simulation, hops)
    links = _links(simulation, hops)
    total = sum(lanes[link] for link in links)
    track_of: dict[int, int] = {}
    first = 0
    for link in links:
        own, _ = _packed(simulation, [hop for hop in hops if program.link[hop] == link])
        track_of |= {hop: first + track for hop, track in own.items()}
        first += lanes[link]
    return track_of, max(total, 1)


def _packed(simulation: Simulation, hops: Sequence[int]) -> tuple[dict[int, int], int]:
    """Tracks for hops so that none overlap, and how many are taken."""
    starts, busy = simulation.hop_start_s.tolist(), simulation.hop_busy_s.tolist()
    slack = _SAME_TIME * simulation.finish_s
    free: list[float] = []
    track_of = {}
    for hop in sorted(hops, key=lambda hop: (round(starts[hop] / slack), hop)):
        begin = starts[hop]
        track = next((at for at, end in enumerate(free) if end <= begin + slack), len(free))
        if track == len(free):
            free.append(0.0)
        free[track] = begin + busy[hop]
        track_of[hop] = track
    return track_of, max(len(free), 1)


def _spans(
    simulation: Simulation,
    row: int,
    hops: Sequence[int],
    track_of: dict[int, int],
    origin_of: Sequence[int],
) -> list[Span]:
    """Spans of a row: pieces of one origin that cross a link side by side are one."""
    program = simulation.program
    slack = _SAME_TIME * simulation.finish_s
    starts, busy = simulation.hop_start_s.tolist(), simulation.hop_busy_s.tolist()
    order = sorted(hops, key=lambda hop: (round(starts[hop] / slack), track_of[hop]))
    spans: list[Span] = []
    for hop in order:
        send = program.schedule.sends[program.send[hop]]
        source, target = program.wires.network.links[program.link[hop]]
        begin = starts[hop]
        span = Span(
            row=row, track=track_of[hop], tracks=1, begin_s=begin, end_s=begin + busy[hop],
            source=source, target=target, origin=origin_of[send.chunk], chunks=(send.chunk,),
            step=send.step,
        )  # fmt: skip
        joined = _joined(spans[-1], span, slack) if spans else None
        if joined is None:
            spans.append(span)
        else:
            spans[-1] = joined
    return spans


def _joined(one: Span, other: Span, slack: float) -> Span | None:
    """Two spans as one where they are neighbours of the same link, origin and time."""
    same = (one.target, one.origin, one.step) == (other.target, other.origin, other.step)
    beside = one.track + one.tracks == other.track
    if not (same and beside and np.isclose(one.begin_s, other.begin_s, rtol=0, atol=slack)):
        return None
    return Span(
        row=one.row, track=one.track, tracks=one.tracks + 1, begin_s=one.begin_s,
        end_s=one.end_s, source=one.source, target=one.target, origin=one.origin,
        chunks=(*one.chunks, *other.chunks), step=one.step,
    )  # fmt: skip
