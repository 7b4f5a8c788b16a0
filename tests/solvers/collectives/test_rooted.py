"""Broadcasts, reduces, gathers and scatters that are made without a search."""

import math
import time
from fractions import Fraction

from collective_networks import dgx1, random_network, switch, torus
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.front import Effort, pareto
from solvers.collectives.greedy import rounds_of
from solvers.collectives.model import parts_of
from solvers.collectives.pipelines import row_at_once
from solvers.collectives.problem import Network, goal_of
from solvers.collectives.rooted import pipeline, rooted_sends
from solvers.collectives.synthesis import as_asked, question, synthesize


def made(
    network: Network, collective: str, chunks: int, steps: int, least: int = 0, root: int = 0
) -> int:
    """Rounds of the schedule along ways, replayed."""
    asked = question(network, collective, root=root)
    parts = parts_of(asked.copied(chunks))
    sends = rooted_sends(asked, parts, steps, least, time.perf_counter() + 10)
    assert sends is not None
    schedule = as_asked(asked, chunks, sends, rounds_of(asked.forward, sends, steps))
    assert faults(schedule, network, goal_of(collective, network.nodes, chunks, root=root)) == ()
    return schedule.total_rounds


@each("collective", ["broadcast", "reduce"])
def test_scatter_and_then_allgather_on_a_switch(collective: str) -> None:
    found = synthesize(switch(16, 1), collective, 16, 2, time_limit_s=20.0)
    assert found.objective == 30  # 15 rounds to scatter 16 pieces, 15 to gather them everywhere
    assert found.bound == 30


@each(
    ("collective", "network", "chunks", "steps", "rounds"),
    [("scatter", torus(4, 4), 4, 4, 15), ("gather", torus(4, 4), 4, 4, 15),
     ("scatter", dgx1(), 6, 2, 7), ("gather", dgx1(), 6, 2, 7)],
)  # fmt: skip
def test_scatters_and_gathers_meet_their_cut(
    collective: str, network: Network, chunks: int, steps: int, rounds: int
) -> None:
    assert made(network, collective, chunks, steps, least=rounds) == rounds


@each("collective", ["broadcast", "scatter", "gather", "reduce"])
def test_schedules_on_any_network_are_right(collective: str) -> None:
    for seed in range(4):
        network = random_network(seed)
        asked = question(network, collective, root=1)
        assert made(network, collective, 3, asked.least_steps + 1, root=1) >= asked.least_steps


def test_pipelines_come_near_the_limit() -> None:
    asked = question(torus(4, 4), "broadcast")
    loads = []
    for steps in (20, 40, 60):
        found = pipeline(asked, steps)
        assert found is not None
        chunks, sends = found
        rounds = rounds_of(asked.forward, sends, steps)
        assert sum(rounds) == steps  # the trees share no link
        schedule = as_asked(asked, chunks, sends, rounds)
        assert faults(schedule, asked.network, asked.goal(chunks)) == ()
        loads.append(schedule.load)
    assert Fraction(1, 4) < loads[2] < loads[1] < loads[0] < Fraction(2, 5)


def test_pipelines_exist_for_broadcasts_alone() -> None:
    assert pipeline(question(torus(4, 4), "scatter"), 12) is None
    assert pipeline(question(torus(4, 4), "allgather"), 12) is None


def test_rows_at_once_are_proved_where_they_meet_the_bound() -> None:
    asked = question(switch(8, 1), "broadcast")
    bound = Fraction(7, 4)  # 8 pieces scattered and gathered: 14 rounds for 8 chunks
    row = row_at_once(
        asked, 2, bound, before=None, most=16, until=time.perf_counter() + 8
    )  # fmt: skip
    assert row is not None
    assert row.proved
    assert row.load == bound
    assert row.lower_bound == math.ceil(bound * row.chunks)
    worse = row_at_once(
        asked, 2, bound, before=bound, most=16, until=time.perf_counter() + 8
    )  # fmt: skip
    assert worse is None


def test_a_reduce_is_the_broadcast_backwards() -> None:
    there, back = (question(torus(4, 4), name) for name in ("broadcast", "reduce"))
    assert there.forward == back.forward
    assert there.group == back.group
    one_way = Network(nodes=3, links=((0, 1), (1, 2), (2, 0)), lanes=(1, 1, 1))
    assert question(one_way, "reduce").forward == one_way.reversed()


def test_fronts_go_on_as_pipelines() -> None:
    found = pareto(torus(3, 3), "broadcast")
    assert found.rows[0].steps == 2
    assert found.rows[-1].steps > 20
    assert found.rows[-1].load < Fraction(1, 3)
    loads = [row.load for row in found.rows]
    assert loads == sorted(loads, reverse=True)


def test_words_name_the_last_pipeline_and_rows_never_fastest_have_a_proof() -> None:
    found = pareto(switch(16, 1), "broadcast", effort=Effort(time_limit_s=3.0))
    assert f"up to {found.rows[-1].steps} steps only along known trees" in found.ends
    for row in found.rows[1:-1]:
        if row.steps > 4 and not row.proved:
            slopes = [
                [(one.load - row.load) / (row.steps - one.steps) for one in part]
                for part in (
                    [one for one in found.rows if one.steps < row.steps],
                    [one for one in found.rows if one.steps > row.steps],
                )
            ]
            assert min(slopes[0]) > max(slopes[1])
