"""The Pareto front of a collective: the fewest rounds per buffer for every number of steps.

For S = S_min, S_min + 1, ...: rho_S is the exact infimum of R / C with S steps, whatever C, so R
is at least max(S, ceil(rho_S C)). Where deliveries bound it (`deliveries`), the least R / C of all
numbers of chunks is found at once, with a schedule that has it. Else numbers of chunks are tried
in the order of the R / C that they could reach, the first few before all others, until no other can
beat the best schedule found. Each takes no more than a part of the time of its S, and each S of
what is left, so that a hard one leaves time for the others. The front ends where rho_S, or what was
found, meets the limit that holds for any number of steps: more steps gain nothing then. Where every
step gains, and no number of steps meets the limit, it ends where none of as many chunks as are
tried can gain any more.

Source of the question and of the loop over S: Cai et al., Synthesizing Optimal Collective
Algorithms, PPoPP 2021, doi:10.1145/3437801.3441620, algorithm 1 (there with a bound by cuts of
single nodes, and without a proof for all C).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from solvers.clock import deadline_of, left_s
from solvers.collectives.allreduce import Members, allreduce_load, allreduce_rows
from solvers.collectives.candidates import TIME, short_fraction
from solvers.collectives.commodities import same_backwards
from solvers.collectives.compose import reverse
from solvers.collectives.flows import load_bound
from solvers.collectives.problem import Network
from solvers.collectives.rows import Front
from solvers.collectives.step_search import FRACTION, Effort
from solvers.collectives.symmetry import Permutation
from solvers.collectives.synthesis import question
from solvers.collectives.walk import MET, OnRow, Walk, sends_of

_HALF = 0.5
"""Of the time of an all-reduce, what each of its halves takes."""
_FAMILIES = (
    "tried: a reduce-scatter and then an allgather, or an allgather and local sums; no proof is "
    "against others"
)


def pareto(
    network: Network,
    collective: str,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    symmetries: Sequence[Permutation] = (),
    effort: Effort | None = None,
    on_row: OnRow | None = None,
) -> Front:
    """All C, S, R worth having: for each S the least R / C, as long as it falls.

    Args:
        network: Nodes, links, lanes, shared capacities.
        collective: Any; an allreduce is composed of a reduce-scatter and an allgather, or of an
            allgather and local sums.
        root: Of rooted collectives: its place within every group.
        groups: Members of each group; default: all nodes.
        symmetries: Known automorphisms; default: they are searched for.
        effort: Limits; default: those of `Effort`.
        on_row: Called with each row as it is found (of an allreduce: of its halves).

    Returns:
        The front; with a time limit it has at least its first row, proved or not.

    Raises:
        ValueError: A wrong collective, root or group, or nodes that cannot be reached.
    """
    effort = effort or Effort()
    started = time.perf_counter()
    if collective == "allreduce":
        return _composed(network, groups, symmetries, effort, on_row)
    deadline = deadline_of(effort.time_limit_s)
    asked = question(
        network, collective, root=root, groups=groups, symmetries=symmetries,
        time_limit_s=effort.time_limit_s * FRACTION,
    )  # fmt: skip
    limit = load_bound(
        asked.forward, asked.copied(1), group=asked.group,
        time_limit_s=left_s(deadline) * FRACTION,
    )  # fmt: skip
    walk = Walk(asked=asked, limit=limit, effort=effort, deadline=deadline, sends=sends_of(asked))
    ends = walk.run(on_row)
    return Front(
        collective=collective,
        rows=tuple(walk.rows),
        least_steps=asked.least_steps,
        limit=limit.load,
        complete=not walk.gaps and walk.met,
        ends=ends,
        seconds=time.perf_counter() - started,
        gaps=walk.gaps,
        out_of_time=walk.out_of_time,
        complete_to=walk.complete_to,
    )


def _composed(
    network: Network,
    groups: Sequence[Sequence[int]] | None,
    symmetries: Sequence[Permutation],
    effort: Effort,
    on_row: OnRow | None,
) -> Front:
    """The front of an all-reduce, of those of its halves."""
    started = time.perf_counter()
    half = replace(effort, time_limit_s=effort.time_limit_s * _HALF)
    gathering = pareto(
        network, "allgather", groups=groups, symmetries=symmetries, effort=half, on_row=on_row
    )
    halves = [gathering]
    if same_backwards(network):
        scattering = tuple(reverse(row.schedule) for row in gathering.rows)
    else:
        scattered = pareto(
            network, "reduce-scatter", groups=groups, symmetries=symmetries, effort=half,
            on_row=on_row,
        )  # fmt: skip
        halves.append(scattered)
        scattering = tuple(row.schedule for row in scattered.rows)
    among = Members(
        network=network,
        groups=None if groups is None else tuple(tuple(members) for members in groups),
    )
    rows = allreduce_rows(
        among, scattering, [row.schedule for row in gathering.rows], gathering.least_steps
    )
    limit = allreduce_load(network, among.sizes)
    ends = MET if rows[-1].load <= limit else _left_open(halves, limit)
    return Front(
        collective="allreduce",
        rows=rows,
        least_steps=gathering.least_steps,
        limit=limit,
        complete=False,
        ends=f"{ends}; {_FAMILIES}",
        seconds=time.perf_counter() - started,
        out_of_time=any(half.ended_by == TIME for half in halves),
    )


def _left_open(halves: Sequence[Front], limit: Fraction) -> str:
    """What is not excluded of an all-reduce; the bounds of its halves are none of its own."""
    words = f"a smaller R/C is not excluded, down to {short_fraction(limit)}"
    if any(half.ended_by == TIME for half in halves):
        return f"{words}: the time limit ended the search for its halves"
    if not all(half.complete for half in halves):
        return f"{words}: its halves are not proved to be the best"
    return words
