"""The chance of running out of memory, the rule about headroom, and inputs that are gathered."""

import math
from dataclasses import replace
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import numpy as np
from support.cases import each

from planner.assumptions.software import FrameworkProfile
from planner.cost.memory.memory import _gathered_inputs
from planner.cost.memory.risk import (
    DOES_NOT_FIT,
    HEADROOM_SHARE,
    RISKY,
    SAFE,
    SLOWDOWN,
    SPREADS,
    Figure,
    headroom_factor,
    lacks_headroom,
    memory_spread,
    out_of_memory_probability,
    risk_word,
)
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable

ROOM = 77 * 2.0**30


def test_the_chance_is_the_tail_of_a_log_normal() -> None:
    held = ROOM * np.array([0.5, 0.8, 0.9, 1.0, 1.1, 2.0])
    for spread in (0.03, 0.1, 0.2):
        found = out_of_memory_probability(held, np.full(6, spread), ROOM)
        by_hand = [1 - NormalDist(math.log(h / ROOM), spread).cdf(0.0) for h in held]
        np.testing.assert_allclose(found, by_hand, atol=1e-12)
        assert found[3] == 0.5
        assert np.all(np.diff(found) >= 0)


def test_without_room_nothing_fits() -> None:
    held = np.array([1.0, 1e9])
    assert out_of_memory_probability(held, np.array(0.1), 0.0).tolist() == [1.0, 1.0]


@each(
    ("chance", "word"),
    [(0.0, SAFE), (0.0499, SAFE), (0.05, RISKY), (0.5, RISKY), (0.501, DOES_NOT_FIT)],
)
def test_words(chance: float, word: str) -> None:
    assert risk_word(chance) == word


def test_spread_says_what_is_known() -> None:
    plans = PlanTable.from_plans([Plan(tp=1), Plan(tp=4), Plan(tp=4, sequence_parallel=False)])
    spread = {name: figure.value for name, figure in SPREADS.items()}

    def of(name: str, era: str | None = None) -> list[float]:
        framework = FRAMEWORKS[name]
        return memory_spread(framework, era or framework.era, plans).tolist()

    assert of("megatron") == [spread["profile"]] * 3
    assert of("megatron", "megatron-2022") == [spread["era"]] * 3
    assert of("torchtitan") == [spread["profile"]] * 3
    assert of("jax") == [spread["unmeasured"]] * 3
    assert of("nanotron") == of("megatron", "megatron-core-2025") == [spread["profile"]] * 3
    unknown = replace(FRAMEWORKS["nanotron"], keeps_gathered="unknown")
    assert memory_spread(unknown, "nanotron", plans).tolist() == [
        spread["profile"],
        spread["flag"],
        spread["profile"],
    ]


@each("framework", FRAMEWORKS.values())
def test_every_profile_says_how_well_it_is_known(framework: FrameworkProfile) -> None:
    assert framework.memory_knowledge in ("profile", "unmeasured")
    assert framework.headroom_share in (1.0, HEADROOM_SHARE.value)


def test_headroom() -> None:
    capacity = 80e9
    held = capacity * np.array([0.5, 0.879, 0.881, 0.95])
    nanotron, megatron = FRAMEWORKS["nanotron"], FRAMEWORKS["megatron"]
    assert lacks_headroom(nanotron, held, capacity).tolist() == [False, False, True, True]
    assert not lacks_headroom(FRAMEWORKS["jax"], held, capacity).any()
    factors = headroom_factor(nanotron, held, capacity)
    assert factors.tolist() == [1.0, 1.0, SLOWDOWN.value, SLOWDOWN.value]
    assert headroom_factor(megatron, held, capacity).tolist() == [1.0] * 4


@each("figure", [*SPREADS.values(), HEADROOM_SHARE, SLOWDOWN])
def test_every_figure_says_where_it_is_from(figure: Figure) -> None:
    assert figure.kind in ("derived", "assumed")
    assert min(len(figure.source), len(figure.note), len(figure.unit)) > 0


@each(("rule", "shares"), [
    ("always", {1: 1.0, 2: 1.0, 8: 1.0, 16: 1.0}), ("never", {1: 0.0, 2: 0.0, 8: 0.0, 16: 0.0}),
    ("unknown", {1: 0.75, 2: 0.75, 8: 0.4, 16: 0.0}),
])  # fmt: skip
@each("buffers", [0.0, 4.0])
def test_gathered_inputs_by_hand(rule: str, shares: dict[int, float], buffers: float) -> None:
    """Ranks gather all of the hidden units but their own: 2 bytes are kept of a share of them."""
    shapes: Any = SimpleNamespace(hidden=1024)
    framework = replace(FRAMEWORKS["nanotron"], keeps_gathered=rule, gather_buffers=buffers)
    plans = PlanTable.from_plans([Plan(tp=tp, pp=2, sequence_parallel=tp > 1) for tp in shares])
    kept, once = _gathered_inputs(shapes, framework, plans)
    for row, (tp, share) in enumerate(shares.items()):
        whole = 1024 * (tp - 1) / tp
        waits = whole * (buffers + 2 * (1 - share)) if buffers else 0.0
        assert np.broadcast_to(kept, (4, 1))[row, 0] == 2 * share * whole
        assert np.broadcast_to(once, (4, 1))[row, 0] == waits
