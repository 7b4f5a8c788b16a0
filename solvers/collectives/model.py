"""The CP-SAT model of a schedule: time-expanded sends of chunks, capacities, invariance.

x[k, i, e, s] says that chunk i of part k crosses link e in step s. It exists only inside the
window: the source of the part can reach the tail of e before s, and a destination that is still
in reach lies behind the head. Then

    every destination receives the chunk once, any other node at most once, the source never;
    a node sends a chunk only after a step in which it received it;
    sum of x[k, i, e, s] over k and i <= lanes_e r_s, likewise over the links of a shared capacity;
    r_s >= 1, and the sum of r_s is least, or every r_s is given.

With a group H of automorphisms in which only the identity keeps a node, the schedule may be held
to x[h k, i, h e, s] = x[k, i, e, s]: variables stay for one part of each orbit, capacities for
one link of each orbit. That is a restriction, so no schedule under H is no proof.

Source of the model: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620, section 3.4 (there for an SMT solver, without H). Source of CP-SAT:
L. Perron, F. Didier, https://developers.google.com/optimization/cp/cp_solver.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from solvers.clock import keep_time
from solvers.collectives.problem import Goal, Network
from solvers.collectives.schedule import Send

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Permutation = tuple[int, ...]
FAR = 1 << 30


class Crossing(NamedTuple):
    """One send in question: chunk `copy` of part `part` over a link in a step (from 0)."""

    part: int
    copy: int
    link: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Chunks that start and end at the same nodes, and so can change places.

    Attributes:
        source: Where they start.
        destinations: Where they must be at the end, without the source.
        chunks: Their numbers in the goal.
    """

    source: int
    destinations: frozenset[int]
    chunks: tuple[int, ...]


def parts_of(goal: Goal) -> tuple[Part, ...]:
    """The parts of a goal that copies, without chunks that are where they must be.

    Raises:
        ValueError: A goal that adds up, or a chunk that several nodes have at the start.
    """
    if goal.combined or any(len(start) != 1 for start in goal.initial):
        raise ValueError("parts are copied from one node each; reverse a goal that adds up")
    numbers: dict[tuple[int, frozenset[int]], list[int]] = defaultdict(list)
    for chunk, (start, end) in enumerate(zip(goal.initial, goal.final, strict=True)):
        (source,) = start
        if end - start:
            numbers[source, end - start].append(chunk)
    return tuple(
        Part(source=source, destinations=end, chunks=tuple(chunks))
        for (source, end), chunks in numbers.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Symmetry:
    """What a group of automorphisms does to parts, links and shared capacities.

    Attributes:
        group: Every element, as a permutation of the nodes; the identity alone: no symmetry.
        leaders: One part of each orbit, by number.
        images: Per leader, the part that each element of the group makes of it.
        link_orbit: Per link, the first link of its orbit.
        port_rows: Per orbit of shared capacities: (links with how often each counts, capacity).
    """

    group: tuple[Permutation, ...]
    leaders: tuple[int, ...]
    images: tuple[tuple[int, ...], ...]
    link_orbit: tuple[int, ...]
    port_rows: tuple[tuple[dict[int, int], int], ...]


def symmetry_of(
    network: Network, parts: Sequence[Part], group: Sequence[Permutation] = ()
) -> Symmetry:
    """The orbits of a group on a problem.

    Args:
        network: Mapped on itself by every element, lanes and shared capacities too.
        parts: Mapped onto each other, with as many chunks.
        group: All elements; only the identity keeps a node. Default: the identity.

    Raises:
        ValueError: The group maps a link or a part to none.
    """
    elements = tuple(group) or (tuple(range(network.nodes)),)
    number = {(part.source, part.destinations): at for at, part in enumerate(parts)}
    link_at = {link: at for at, link in enumerate(network.links)}
    try:
        links = [[link_at[h[u], h[v]] for u, v in network.links] for h in elements]
        leaders, images = [], []
        seen: set[int] = set()
        for at, part in enumerate(parts):
            if at in seen:
                continue
            ends = [(h[part.source], frozenset(h[d] for d in part.destinations)) for h in elements]
            leaders.append(at)
            images.append(tuple(number[end] for end in ends))
            seen.update(images[-1])
    except KeyError as missing:
        raise ValueError(f"the group maps a link or a part to {missing}, which is none") from None
    return Symmetry(
        group=elements,
        leaders=tuple(leaders),
        images=tuple(images),
        link_orbit=tuple(min(at) for at in zip(*links, strict=True)),
        port_rows=tuple(_port_rows(network, links)),
    )


def _port_rows(
    network: Network, links: Sequence[Sequence[int]]
) -> Iterator[tuple[dict[int, int], int]]:
    """One row for each orbit of shared capacities; a link counts once per element that maps it in.

    What all parts send through port P is, over leaders alone, the sum over h of x over h P.
    """
    seen: set[frozenset[int]] = set()
    for port in network.shared:
        orbit = [frozenset(of[link] for link in port.links) for of in links]
        if orbit[0] in seen:
            continue
        seen.update(orbit)
        yield dict(Counter(link for image in orbit for link in image)), port.capacity


def windows(
    network: Network, part: Part, steps: int, hops: Sequence[Sequence[int]]
) -> list[tuple[int, int, int]]:
    """(link, first step, last step) of every link that the part can use, steps from 0.

    Args:
        network: The links.
        part: Its source and destinations.
        steps: S.
        hops: (nodes, nodes) links on a shortest way; at least `FAR` where there is none.
    """
    away = [
        min((int(hops[node][end]) for end in part.destinations), default=FAR)
        for node in range(network.nodes)
    ]
    found = []
    for link, (u, v) in enumerate(network.links):
        first, last = int(hops[part.source][u]), steps - 1 - away[v]
        if v != part.source and first <= last:
            found.append((link, first, last))
    return found


@dataclass(slots=True, kw_only=True)
class Model:
    """A CP-SAT model under way.

    Attributes:
        model: The model.
        crossings: Its sends, of leading parts.
        on_link: Of each (leading link, step): what counts against its lanes.
        on_port: Of each (orbit of shared capacities, step): the same, with how often it counts.
    """

    model: cp_model.CpModel
    crossings: dict[Crossing, cp_model.IntVar]
    on_link: dict[tuple[int, int], list[cp_model.IntVar]]
    on_port: dict[tuple[int, int], list[tuple[int, cp_model.IntVar]]]


def size_of(
    network: Network,
    parts: Sequence[Part],
    symmetry: Symmetry,
    steps: int,
    hops: Sequence[Sequence[int]],
) -> int:
    """How many sends the model of `unrolled` would have."""
    return sum(
        len(parts[at].chunks) * (last - first + 1)
        for at in symmetry.leaders
        for _, first, last in windows(network, parts[at], steps, hops)
    )


def unrolled(
    network: Network,
    parts: Sequence[Part],
    symmetry: Symmetry,
    steps: int,
    hops: Sequence[Sequence[int]],
    *,
    deadline: float = math.inf,
) -> Model:
    """The sends of every leading chunk, received once and held before they go on.

    Args:
        network: Links, lanes, shared capacities.
        parts: What is sent.
        symmetry: Of the group that schedules are held to.
        steps: S.
        hops: (nodes, nodes) shortest distances.
        deadline: On the clock of `time.perf_counter`.

    Raises:
        OutOfTime: The deadline passed.
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

    model = cp_model.CpModel()
    crossings: dict[Crossing, cp_model.IntVar] = {}
    for at in symmetry.leaders:
        window = windows(network, parts[at], steps, hops)
        for copy in range(len(parts[at].chunks)):
            keep_time(deadline)
            mine = {
                Crossing(at, copy, link, step): model.new_bool_var("")
                for link, first, last in window
                for step in range(first, last + 1)
            }
            _flow(model, network, parts[at], mine)
            crossings |= mine
    made = Model(model=model, crossings=crossings, on_link={}, on_port={})
    _gather(made, symmetry)
    return made


def _gather(made: Model, symmetry: Symmetry) -> None:
    """What each leading link and each orbit of shared capacities carries in each step."""
    ports = defaultdict(list)
    for row, (counts, _) in enumerate(symmetry.port_rows):
        for link, count in counts.items():
            ports[link].append((row, count))
    for crossing, variable in made.crossings.items():
        leader = symmetry.link_orbit[crossing.link]
        made.on_link.setdefault((leader, crossing.step), []).append(variable)
        for row, count in ports[crossing.link]:
            made.on_port.setdefault((row, crossing.step), []).append((count, variable))


def bind_rounds(
    made: Model,
    network: Network,
    symmetry: Symmetry,
    rounds: Sequence[int] | Sequence[cp_model.IntVar],
) -> None:
    """Links and shared capacities carry what their rounds allow; rows that cannot bind stay out."""
    from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

    total = cp_model.LinearExpr.sum
    for (link, step), variables in made.on_link.items():
        if len(variables) > network.lanes[link]:
            made.model.add(total(variables) <= network.lanes[link] * rounds[step])
    for (row, step), terms in made.on_port.items():
        capacity = symmetry.port_rows[row][1]
        if sum(count for count, _ in terms) > capacity:
            counts, variables = [list(column) for column in zip(*terms, strict=True)]
            carried = cp_model.LinearExpr.weighted_sum(variables, counts)
            made.model.add(carried <= capacity * rounds[step])


def free_rounds(made: Model, steps: int, low: int, high: int) -> list[cp_model.IntVar]:
    """r_s >= 1 with a sum from low to high, which is minimized."""
    rounds = [made.model.new_int_var(1, high - steps + 1, f"r{step}") for step in range(steps)]
    made.model.add_linear_constraint(sum(rounds), low, high)
    made.model.minimize(sum(rounds))
    return rounds


def _flow(
    model: cp_model.CpModel,
    network: Network,
    part: Part,
    mine: dict[Crossing, cp_model.IntVar],
) -> None:
    """One chunk: received once, held before it is sent."""
    into: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
    for crossing, variable in mine.items():
        into[network.links[crossing.link][1]].append((crossing.step, variable))
    for node, arrivals in into.items():
        received = [variable for _, variable in arrivals]
        if node in part.destinations:
            model.add_exactly_one(received)
        else:
            model.add_at_most_one(received)
    if part.destinations - set(into):
        model.add_bool_or([])
    for crossing, variable in mine.items():
        tail = network.links[crossing.link][0]
        if tail != part.source:
            before = [x for step, x in into[tail] if step < crossing.step]
            model.add_bool_or([*before, variable.negated()])


def sends_of(
    network: Network, parts: Sequence[Part], symmetry: Symmetry, crossings: Sequence[Crossing]
) -> tuple[Send, ...]:
    """The sends of all parts from those of the leaders, without any that nobody needs.

    Args:
        network: The links.
        parts: What is sent.
        symmetry: Of the group that the schedule was held to.
        crossings: Of leading parts; every node receives a chunk at most once.
    """
    leader = {at: place for place, at in enumerate(symmetry.leaders)}
    sends = []
    for crossing in _needed(network, parts, crossings):
        u, v = network.links[crossing.link]
        images = symmetry.images[leader[crossing.part]]
        for h, image in zip(symmetry.group, images, strict=True):
            sends.append(Send(crossing.step, h[u], h[v], parts[image].chunks[crossing.copy]))
    return tuple(sorted(sends))


def _needed(
    network: Network, parts: Sequence[Part], crossings: Sequence[Crossing]
) -> list[Crossing]:
    """Crossings that end at a destination or at a node that sends the chunk on."""
    kept = []
    sent_on: set[tuple[int, int, int]] = set()
    for crossing in sorted(crossings, key=lambda crossing: -crossing.step):
        u, v = network.links[crossing.link]
        part, copy = crossing.part, crossing.copy
        if v in parts[part].destinations or (part, copy, v) in sent_on:
            kept.append(crossing)
            sent_on.add((part, copy, u))
    return kept
