"""What neighbouring questions share changes no answer, whatever was asked and opened before."""

import random
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.jobs import dense_model, random_chips, random_cost_model, roofline_model

import planner
from planner.base.errors import InputError
from planner.objectives import ENERGY, TIME
from planner.question.options import SpaceOptions
from planner.results.result import SolveResult
from planner.search.best_few import best_few
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.sharing.basis import Basis
from planner.search.sharing.session import Session
from planner.search.ties import Ties
from planner.search.uniform.engine import UniformSpace, searched
from planner.search.uniform.nodes import Nodes

SMALL: dict[str, Any] = {"model": "gpt3-125m", "hardware": "dgx-h100-ndr", "seq_len": 2048}
STUDIES: dict[str, list[dict[str, Any]]] = {
    "batches, limits, objectives and prices": [
        {**SMALL, "chips": 16, "batch_tokens": 2**15, **changes}
        for changes in (
            {}, {"batch_tokens": 2**16}, {"batch_tokens": 3 * 2**14}, {"objective": "energy"},
            {"objective": "memory"}, {"max_memory": "20 GB"}, {"max_power": "11 kW"},
            {"seq_len": 1024}, {"front": ["time", "energy", "memory"]}, {"max_memory": "0.1 GB"},
            {"train_tokens": 1e9, "price_per_chip_hour": 2, "objective": "run-money"},
            {"train_tokens": 1e9, "price_per_chip_hour": 3, "objective": "run-money"},
            {"train_tokens": 1e9, "price_per_chip_hour": 3}, {"train_tokens": 1e9},
            {"offload": True},
        )
    ],
    "chips, sequences and batches": [
        {
            **SMALL, "chips": chips, "seq_len": tokens, "batch_tokens": batch,
            "framework": framework, "max_memory": "6 GB", "clocks": False,
        }
        for framework in ("megatron", "torchtitan")
        for chips, tokens in ((8, 1024), (16, 2048))
        for batch in (2**15, 3 * 2**14, 2**16)
    ],
    "numbers of chips": [
        {**SMALL, "chips_at_most": 16, "batch_tokens": tokens} for tokens in (2**15, 2**16, 2**15)
    ],
    "prices of a chip-hour, of steps alone": [
        {**SMALL, "chips_at_most": 16, "batch_tokens": 2**15, "clocks": False, **changes}
        for objective in ("money", "time")
        for changes in (
            {"objective": objective, "front": ["time", "money"]},
            {"objective": objective, "front": ["time", "money"], "price_per_chip_hour": 2},
            {"objective": objective, "front": ["time", "money"], "price_per_chip_hour": 3},
        )
    ],
    "machines": [
        {
            "model": "gpt3-125m", "hardware": "h100-sxm5-80", "seq_len": 2048, "clocks": False,
            "batch_tokens": tokens, "pes": [66, 132], "topology": ["ring", "switch"],
            "total_pes": 528,
        }
        for tokens in (2**14, 2**15)
    ],
    "uneven stages": [
        {**SMALL, "chips": 4, "batch_tokens": tokens, "layout": "uneven", "fix": {"pp": 2, "tp": 2}}
        for tokens in (2**13, 2**14)
    ],
    "pools": [
        {
            "model": "gpt3-125m", "pools": {"dgx-h100-ndr": 8, "dgx-a100-80-hdr": 8},
            "layout": "uneven", "seq_len": 2048, "batch_tokens": tokens, "fix": {"pp": 2, "tp": 4},
        }
        for tokens in (2**15, 2**16)
    ],
}  # fmt: skip


def told(answer: SolveResult) -> dict[str, Any]:
    """An answer as data, without what says how its search went, and what its best plan tells."""
    few = replace(answer.candidates, neighbors=())
    found = replace(answer, candidates=few, notes=replace(answer.notes, why=())).to_dict()
    for name in ("counts", "front_counts", "seconds"):
        del found["candidates"][name]
    for machine in found["candidates"]["machines"]:
        del machine["bound"], machine["evaluated"]
    del found["digest"]
    return found


@pytest.mark.parametrize("study", STUDIES)
def test_answers_are_equal_in_every_order_and_without_sharing(study: str) -> None:
    points = STUDIES[study]
    alone = [planner.solve(**point) for point in points]
    for order in range(1 if "layout" in points[0] else 2):
        session, rng = Session(), random.Random(f"{study} {order}")
        for at in rng.sample(range(len(points)), len(points)):
            shared = planner.solve(session=session, **points[at])
            assert told(shared) == told(alone[at]), points[at]
    assert (session.bytes > 0) == (study != "pools")


FIELDS: dict[str, list[Any]] = {
    "chips": [8, 16], "seq_len": [1024, 2048], "batch_tokens": [2**15, 3 * 2**14, 2**16],
    "objective": ["time", "energy", "edp", "money", "power", "run-money"],
    "front": [None, ["time", "energy", "memory"], ["time", "money"], ["days", "run-money"]],
    "price_per_chip_hour": [None, 2, 3.5], "electricity_price": [None, 0.1, 0.3],
    "train_tokens": [None, 1e9, 2e9], "max_memory": [None, "6 GB"], "max_oom_risk": [None, 0.3],
    "max_power": [None, "9 kW"], "max_step_time": [None, "200ms", "1ms"],
    "framework": [None, "torchtitan"], "assumptions": [None, "roofline"], "pue": [None, 1.3],
    "set": [None, ["memory.bandwidth=2x"]], "fix": [None, {"pp": [1, 2]}],
}  # fmt: skip
"""Values of fields of a question; None leaves one out."""


def random_points(seed: int, count: int) -> list[dict[str, Any]]:
    """Questions that differ in a few fields, of which some are asked twice, some refused."""
    rng = random.Random(f"points {seed}")
    varied = rng.sample(sorted(FIELDS), 3)
    points = []
    for _ in range(count):
        drawn = {name: rng.choice(FIELDS[name]) for name in varied}
        given = {name: value for name, value in drawn.items() if value is not None}
        fixed = {"chips": 8, "batch_tokens": 2**15, "clocks": False}
        points.append({**SMALL, **fixed, **given})
    return points


def said(point: dict[str, Any], session: Session | None) -> dict[str, Any] | str:
    """An answer as data, or why the question is refused."""
    try:
        return told(planner.solve(session=session, **point))
    except InputError as error:
        return str(error)


def test_answers_of_random_neighbours_are_those_alone() -> None:
    found: list[dict[str, Any] | str] = []
    for seed in (2, 3, 7, 8):
        session = Session()
        for point in random_points(seed, 5):
            found.append(said(point, None))
            assert said(point, session) == found[-1], point
    solved = [one for one in found if isinstance(one, dict)]
    assert len(solved) > len(found) // 2
    assert {one["certificate"]["status"] for one in solved} == {"optimal", "infeasible"}


class Elsewhere(Session):
    """Opens some nodes first that nobody has a reason to open."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def promising(self, space: UniformSpace, nodes: Nodes) -> np.ndarray:
        """Random nodes."""
        return self.rng.permutation(len(nodes.partial_plans))[: int(self.rng.integers(0, 40))]


def spaces() -> list[UniformSpace]:
    """Of random jobs, and of jobs under `roofline`, where hundreds of plans tie."""
    made = []
    for seed in range(8):
        if seed % 2:
            model = random_cost_model(seed)
            chips = random_chips(model, seed, most=16)
        else:
            chips = 16
            made_of = dense_model(4, 1024, 8, 8, 4096)
            model = roofline_model(made_of, "dgx-h100-ndr", chips, chips * 2000 * seed + 4000)
        offload = seed % 4 == 1
        options = SpaceOptions(all_orders=seed % 3 == 0, offload=offload)
        made.append(
            UniformSpace(
                model=model,
                options=options,
                limits=Limits(),
                chips=(chips,),
                columns=(TIME, ENERGY),
            )
        )
    return made


def test_what_is_opened_first_changes_neither_front_nor_ties_nor_the_best_few() -> None:
    tied = 0
    for number, space in enumerate(spaces()):
        expected = None
        for path in range(3):
            here = replace(space, session=Elsewhere(path) if path else None)
            if path:
                here.seeds, here.at_a_time = (1, 20)[path - 1], (6, 15)[path - 1]
            found = searched(here)
            if not len(found.points):
                continue
            assert here.last is not None
            best = optimum(found.points, found.bound, found.status, TIME, found.columns)
            row = found.plans.take(np.array([best.row]))
            time_s, energy_j = found.points[best.row].tolist()
            ties = Ties(
                space=here, nodes=here.last, time_s=time_s, energy_j=energy_j, opened=here.first
            )
            few = best_few(here, here.last, TIME, row, best.value)
            told = (
                [found.plans.plan(at) for at in range(len(found.plans))],
                found.points.tolist(), found.bound.tolist(), ties.first(row).plan(0),
                [few.plans.plan(at) for at in range(len(few.plans))],
                [few.near.plan(at) for at in range(len(few.near))], few.values.tolist(),
            )  # fmt: skip
            expected = expected or told
            assert told == expected, (number, path)
            tied += ties.first(row).plan(0) != row.plan(0)
    assert tied


def test_a_session_keeps_no_more_than_it_may_and_forgets_what_was_not_used_for_longest() -> None:
    session = Session(most_bytes=3000)
    for number in (0, 1, 2, 0, 3):
        session.recall(number, lambda: np.zeros(125))
    assert (session.bytes, session.recalled) == (3000, 1)
    for number in (0, 1):
        session.recall(number, lambda: np.ones(125))
    assert session.recalled == 2  # 1 was forgotten for 3
    assert session.recall("large", lambda: np.zeros(1000)).nbytes == 8000
    assert session.bytes == 0


def test_batches_share_partial_plans_and_their_bounds_within_what_may_be_kept() -> None:
    session, small, batches = Session(), Session(most_bytes=10_000), (2**15, 3 * 2**14, 2**16)
    asked = [{**SMALL, "chips": 8, "clocks": False, "batch_tokens": tokens} for tokens in batches]
    with patch.object(Basis, "build", wraps=Basis.build) as built:
        for point in asked + asked:
            planner.solve(session=session, **point)
        assert built.call_count == 2  # of two batches, then of three
        for point in asked + asked:
            planner.solve(session=small, **point)
            assert small.bytes <= 10_000
        assert built.call_count > 4  # forgotten, and built again


def test_prices_share_the_search_and_a_time_limit_shares_none() -> None:
    session = Session()
    asked = {**SMALL, "chips": 8, "batch_tokens": 2**15, "train_tokens": 1e9}
    planner.solve(session=session, **asked, price_per_chip_hour=2)
    before = session.recalled
    planner.solve(session=session, **asked, price_per_chip_hour=3)
    after = session.recalled
    assert after >= before + 2  # the search, its ties
    plain, shared = (
        planner.solve(**SMALL, chips=16, batch_tokens=2**16, session=one) for one in (None, session)
    )
    assert plain == shared  # whatever they counted
    planner.solve(session=session, **asked, price_per_chip_hour=3, time_limit=60)
    assert session.recalled == after
