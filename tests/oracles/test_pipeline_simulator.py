"""Checks of the pipeline simulator: published timelines, invariants, exact makespans and bounds.

Durations in the tests of closed forms are small integers, which floats add exactly, so those tests
compare with ``==``. ``t_i = F_i + B_i`` throughout, and a send counts as part of ``F`` and ``B``.

Closed forms that hold for all non-negative durations are tested on a handful of points only. That
suffices: the makespan is the maximum over paths of linear functions, hence convex and homogeneous.
If it equals a formula that is linear on a cone at the rays that span the cone, it is not above the
formula anywhere on the cone; a convex function that is not above a linear one and touches it at
one interior point equals it on the whole cone.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.pipeline_simulator import (
    DeadlockError,
    Durations,
    Item,
    Kind,
    Schedule,
    SimResult,
    gpipe,
    interleaved,
    one_f_one_b,
    simulate,
    zero_bubble_h1,
    zero_bubble_h2,
)

Times = Sequence[float]
ALL_SCHEDULES: dict[str, Callable[[int, int], Schedule]] = {
    "gpipe": gpipe,
    "1f1b": one_f_one_b,
    "interleaved v=2": lambda p, groups: interleaved(p, 2, p * groups),
    "interleaved v=3, short warm-up": lambda p, groups: interleaved(
        p, 3, p * groups, single_group_all_forward=False
    ),
    "zb-h1": zero_bubble_h1,
    "zb-h2": zero_bubble_h2,
}


def run(schedule: Schedule, *times: Times, send_s: float = 0.0, ends: bool = True) -> SimResult:
    """Simulate with ``times`` = F, B and, for split backward, W; one value means all stages."""
    f, b, *w = (t if len(t) > 1 else [t[0]] * schedule.stages for t in times)
    weight = w[0] if w else []
    durations = Durations(
        forward_s=f, backward_s=b, weight_grad_s=weight, send_s=send_s, charge_end_sends=ends
    )
    return simulate(schedule, durations)


def makespan(schedule: Schedule, *times: Times) -> float:
    return run(schedule, *times).makespan_s


ONE_F_ONE_B = """
F1 F2 F3 F4 .  .  .  .  .  .  B1 B1 F5 B2 B2 F6 B3 B3 F7 B4 B4 F8 B5 B5 .  B6 B6 .  B7 B7 .  B8 B8
.  F1 F2 F3 .  .  .  .  B1 B1 F4 B2 B2 F5 B3 B3 F6 B4 B4 F7 B5 B5 F8 B6 B6 .  B7 B7 .  B8 B8 .  .
.  .  F1 F2 .  .  B1 B1 F3 B2 B2 F4 B3 B3 F5 B4 B4 F6 B5 B5 F7 B6 B6 F8 B7 B7 .  B8 B8 .  .  .  .
.  .  .  F1 B1 B1 F2 B2 B2 F3 B3 B3 F4 B4 B4 F5 B5 B5 F6 B6 B6 F7 B7 B7 F8 B8 B8 .  .  .  .  .  .
"""
ZB_H1 = """
F1 F2 F3 F4 .  .  .  B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 F8 B5 W5 B6 W6 B7 W7 B8 W8
.  F1 F2 F3 .  .  B1 F4 B2 W1 F5 B3 W2 F6 B4 W3 F7 B5 W4 F8 B6 W5 B7 W6 B8 W7 W8
.  .  F1 F2 .  B1 F3 B2 F4 B3 W1 F5 B4 W2 F6 B5 W3 F7 B6 W4 F8 B7 W5 B8 W6 W7 W8
.  .  .  F1 B1 F2 B2 F3 B3 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 F8 B8 W5 W6 W7 W8
"""
ZB_H2 = """
F1 F2 F3 F4 F5 F6 F7 B1 W1 F8 B2 W2 B3 W3 B4 W4 B5 W5 B6 W6 B7 W7 B8 W8 .  .  .
.  F1 F2 F3 F4 F5 B1 F6 B2 F7 B3 W1 F8 B4 W2 B5 W3 B6 W4 B7 W5 B8 W6 W7 W8 .  .
.  .  F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 W1 F8 B6 W2 B7 W3 B8 W4 W5 W6 W7 W8 .
.  .  .  F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 W1 F8 B8 W2 W3 W4 W5 W6 W7 W8
"""
# p=2, v=2, m=4, drawn by hand from the definition: F and B of chunk 0, f and b of chunk 1.
INTERLEAVED = """
F1 F2 f1 f2 F3 b1 F4 b2 f3 B1 f4 B2 .  b3 .  b4 B3 B4
.  F1 F2 f1 b1 f2 b2 F3 B1 F4 B2 f3 b3 f4 b4 B3 B4 .
"""


@pytest.mark.parametrize(
    ("schedule", "times", "drawing"),
    [
        (one_f_one_b(4, 8), [[1], [2]], ONE_F_ONE_B),
        (zero_bubble_h1(4, 8), [[1], [1], [1]], ZB_H1),
        (zero_bubble_h2(4, 8), [[1], [1], [1]], ZB_H2),
        (interleaved(2, 2, 4), [[1], [1]], INTERLEAVED),
    ],
)
def test_timelines_equal_the_drawings(schedule: Schedule, times: list[Times], drawing: str) -> None:
    """The first three are figures 2 and 3 of Qi et al. 2023, arXiv:2401.10241, with p=4, m=8."""
    rows = [row.split() for row in drawing.strip().splitlines()]
    drawn = [["."] * len(row) for row in rows]
    result = run(schedule, *times)
    for device, item, start_s, end_s in result.trace:
        for slot in range(int(start_s), int(end_s)):
            name = item.kind.value if item.stage == device else item.kind.value.lower()
            drawn[device][slot] = f"{name}{item.micro_batch + 1}"
    assert drawn == rows
    assert result.makespan_s == len(rows[0])


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(ALL_SCHEDULES)), data=st.data(), ends=st.booleans())
def test_every_item_starts_as_soon_as_the_rules_allow(
    name: str, data: st.DataObject, ends: bool
) -> None:
    p, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    send_s = data.draw(st.sampled_from([0.0, 3.0]))
    schedule = ALL_SCHEDULES[name](p, m)
    stages = schedule.stages
    some_s = st.lists(st.integers(0, 20), min_size=stages, max_size=stages)
    times = [data.draw(some_s) for _ in range(3 if schedule.split_backward else 2)]
    result = run(schedule, *times, send_s=send_s, ends=ends)
    by_item = {entry.item: entry for entry in result.trace}
    assert len(by_item) == len(result.trace) == len(times) * stages * schedule.micro_batches
    for device, order in enumerate(schedule.orders):
        before = dict(zip(order[1:], order, strict=False))
        for item in order:
            kind, k, stage = item
            needs = {
                Kind.F: [Item(Kind.F, k, stage - 1)],
                Kind.B: [Item(Kind.F, k, stage), Item(Kind.B, k, stage + 1)],
                Kind.W: [Item(Kind.B, k, stage)],
            }[kind]
            needs += [before[item]] if item in before else []
            entry = by_item[item]
            ready_s = [by_item[other].end_s for other in needs if other in by_item]
            assert entry.device == device == stage % p
            assert entry.start_s == max(ready_s, default=0.0)
            takes_s: float = times["FBW".index(kind.value)][stage]
            last_hop = stage == (stages - 1 if kind is Kind.F else 0)
            if kind is not Kind.W and (ends or not last_hop):
                takes_s += send_s
            assert entry.end_s - entry.start_s == takes_s
    assert result.makespan_s == max(entry.end_s for entry in result.trace)
    for device, (busy_s, idle_s) in enumerate(zip(result.busy_s, result.idle_s, strict=True)):
        mine = [entry for entry in result.trace if entry.device == device]
        assert busy_s == sum(entry.end_s - entry.start_s for entry in mine)
        gaps_s = sum(after.start_s - entry.end_s for entry, after in pairwise(mine))
        assert idle_s == mine[0].start_s + gaps_s + result.makespan_s - mine[-1].end_s


@pytest.mark.parametrize("p", range(1, 8))
@pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 17])
def test_peak_in_flight(p: int, m: int) -> None:
    assert run(gpipe(p, m), [1], [1]).peak_in_flight == (m,) * p
    assert run(one_f_one_b(p, m), [1], [1]).peak_in_flight == tuple(min(m, p - i) for i in range(p))
    assert run(zero_bubble_h1(p, m), [1], [1], [1]).peak_in_flight == (min(m, p),) * p
    assert run(zero_bubble_h2(p, m), [1], [1], [1]).peak_in_flight == (min(m, 2 * p - 1),) * p
    groups, v = min(m, 3), 3
    chunks = [min(p * groups * v, 2 * (p - i - 1) + (v - 1) * p + 1) for i in range(p)]
    short = interleaved(p, v, p * groups, single_group_all_forward=False)
    assert run(short, [1], [1]).peak_in_flight == tuple(chunks)
    assert run(interleaved(p, v, p), [1], [1]).peak_in_flight == (p * v,) * p  # one group


def equal_zero_bubble_h1(p: int, m: int, f: float, b: float, w: float) -> float:
    """``m (F + B + W) + (p - 1)(F + B) - (min(p, m) - 1) min(F, B, W)``.

    For ``m >= p`` and ``W <= min(F, B)`` the bubble is ``(p - 1)(F + B - W)``, as in table 2 of Qi
    et al. 2023. Proof for ``m >= p``. Write the start of ``B`` of micro-batch ``k`` on device ``i``
    as ``p F + (p - 1 - i) B + c_i(k)``. While device ``i`` has forwards left it never waits:
    ``c_i(k) = k (F + B) + max(0, k - i) W`` satisfies every dependency with equality or slack. Its
    forwards end at ``k = m - p + i``; from there ``c_i(k) = max(c_{i+1}(k), c_i(k-1) + B + W)``. So
    ``c_i(m-1)`` is the maximum over ``j = i..p-1`` of ``(m-p+j)(F+B) + (m-p) W + (p-1-j)(B+W)``,
    linear in ``j``, hence attained at ``j = i`` or ``p - 1``; device ``i`` then has ``B`` and
    ``i + 1`` times ``W`` left. That end time is linear in ``i`` for both ``j``; its maximum, at
    ``i = 0`` or ``p - 1``, is the formula. ``m < p`` goes the same way.
    """
    return m * (f + b + w) + (p - 1) * (f + b) - (min(p, m) - 1) * min(f, b, w)


@pytest.mark.parametrize("p", range(1, 9))
def test_equal_stages_take_one_slot_per_micro_batch_and_further_device(p: int) -> None:
    """``(m + p - 1)(F + B)``; interleaved, ``(m v + p - 1)`` chunks: for all F, B >= 0, m >= 1."""
    for f, b in [(1, 0), (0, 1), (1, 1), (3, 7)]:
        for m in range(1, 2 * p + 3):
            for schedule in (gpipe(p, m), gpipe(p, m, reverse_backward=False), one_f_one_b(p, m)):
                assert makespan(schedule, [f], [b]) == (m + p - 1) * (f + b)
        for v, groups, whole in [(1, 2, True), (2, 1, True), (2, 1, False), (3, 2, True)]:
            m = groups * p
            schedule = interleaved(p, v, m, single_group_all_forward=whole)
            assert makespan(schedule, [f], [b]) == (m * v + p - 1) * (f + b)


@pytest.mark.parametrize("p", range(1, 9))
def test_zero_bubble_h1_closed_form(p: int) -> None:
    """For all F, B, W >= 0: the rays and one interior point of the cones where one is smallest."""
    rays = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]
    interior = [(1, 2, 2), (2, 1, 2), (2, 2, 1)]
    for m in range(1, 2 * p + 3):
        for f, b, w in rays + interior:
            simulated = makespan(zero_bubble_h1(p, m), [f], [b], [w])
            assert simulated == equal_zero_bubble_h1(p, m, f, b, w)


@pytest.mark.parametrize("p", range(2, 6))
def test_zero_bubble_h2_closed_form(p: int) -> None:
    """``m (F+B+W) + (p-1) max(F + B - 2 W, F, B - F)`` for m >= 2 p - 1; no bubble on a device."""
    points = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (2, 4, 1), (2, 6, 5), (5, 1, 2)]
    for m in range(2 * p - 1, 3 * p + 2):
        for f, b, w in points:
            simulated = makespan(zero_bubble_h2(p, m), [f], [b], [w])
            assert simulated == m * (f + b + w) + (p - 1) * max(f + b - 2 * w, f, b - f)
        trace = run(zero_bubble_h2(p, m), [1], [1], [1]).trace
        for i in range(p):
            mine = [entry for entry in trace if entry.device == i]
            assert mine[-1].end_s - mine[0].start_s == 3 * m


def test_closed_forms_hold_for_random_durations_and_sends() -> None:
    rng = random.Random(20241)
    for _ in range(400):
        p, m, v, groups = (rng.randint(1, top) for top in (7, 14, 4, 4))
        f, b, w, send_s = (rng.uniform(1e-4, 1.0) for _ in range(4))
        fs, bs = f + send_s, b + send_s
        for schedule, times, expected in (
            (gpipe(p, m), (f, b), (m + p - 1) * (fs + bs)),
            (one_f_one_b(p, m), (f, b), (m + p - 1) * (fs + bs)),
            (interleaved(p, v, groups * p), (f, b), (groups * p * v + p - 1) * (fs + bs)),
            (zero_bubble_h1(p, m), (f, b, w), equal_zero_bubble_h1(p, m, fs, bs, w)),
        ):
            result = run(schedule, *([t] for t in times), send_s=send_s)
            assert math.isclose(result.makespan_s, expected, rel_tol=1e-12)


def random_stages(rng: random.Random, n: int, kinds: int, style: int) -> list[list[int]]:
    """Integer durations of ``n`` stages: free, one ratio, one heavy stage, or orders of magnitude.

    The styles are 0 to 3; styles 1 and 2 have the same ratio of kinds on every stage.
    """
    if style == 0:
        return [[rng.randint(0, 30) for _ in range(n)] for _ in range(kinds)]
    if style == 3:
        return [rng.choices([0, 1, 2, 3, 20, 30, 100, 1000, 3000], k=n) for _ in range(kinds)]
    size = [rng.randint(1, 30) for _ in range(n)] if style == 1 else [20] * n
    size[rng.randrange(n)] += rng.randint(0, 20)
    return [[factor * s for s in size] for factor in (rng.randint(1, 5) for _ in range(kinds))]


def instances(seed: int, count: int) -> Iterator[tuple[random.Random, int, int, int]]:
    """``count`` times a generator, ``p``, ``m`` and a style of ``random_stages``."""
    rng = random.Random(seed)
    for index in range(count):
        yield rng, rng.randint(1, 7), rng.randint(1, 14), index % 4


def total(*times: Times) -> list[float]:
    return [sum(parts) for parts in zip(*times, strict=True)]


def warm_up(first: Times, t: Times) -> list[float]:
    """``X_j = max_{r>=j} sum_{j<i<=r} t_i + (p-1-r) max_{i<=r} first_i`` for every device ``j``."""
    p = len(t)
    return [
        max(sum(t[j + 1 : r + 1]) + (p - 1 - r) * max(first[: r + 1]) for r in range(j, p))
        for j in range(p)
    ]


def one_f_one_b_makespan(f: Times, b: Times, m: int) -> float:
    """``max_{j >= max(0, p-m)} sum_{i<j} t_i + (m-p+1+j) t_j + X_j(F) + X_j(B)``, all ``m >= 1``.

    Each term is the length of a path: forwards to device ``j``, with an excursion to device ``r``
    or repeated forwards on the way (``X_j(F)``), then ``F_j B_j`` in turn, and the mirror image of
    the beginning at the end. ``m`` enters as a factor of ``t_j`` only.
    """
    t, p = total(f, b), len(f)
    x, y = warm_up(f, t), warm_up(b, t)
    hubs = range(max(0, p - m), p)
    return max(sum(t[:j]) + (m - p + 1 + j) * t[j] + x[j] + y[j] for j in hubs)


def zero_bubble_h1_makespan(f: Times, b: Times, w: Times, m: int) -> float:
    """``max_j sum_{i<=j} F_i + P_j + (m-p)(F+B+W)_j + Z_j``; needs ``m >= p``.

    ``P_j``: longest way to ``B`` of micro-batch ``j`` on device ``j``, before which no ``W`` can
    lie. ``Z_j``: longest way from the last forward on device ``j`` over device ``r`` to the end of
    device ``e``, whose last ``e + 1`` weight gradients follow its last ``B``.
    """
    t, p = total(f, b), len(f)
    x, bw, tail = warm_up(f, t), total(b, w), [(e + 1) * w[e] for e in range(p)]
    ways = []
    for j in range(p):
        prefixes = [i * t[i] + x[i] for i in range(j + 1)]
        prefixes += [
            (p - 1 - r) * max(f[: r + 1]) + r * t[i] for i in range(j + 1) for r in range(i + 1)
        ]
        prefixes += [sum(t[j + 1 : i]) + (j + 1) * t[i] + x[i] for i in range(j + 1, p)]
        suffix = max(
            sum(f[j + 1 : r + 1]) + sum(b[e : r + 1]) + (p - 1 - r) * max(bw[e : r + 1]) + tail[e]
            for e in range(p)
            for r in range(max(e, j), p)
        )
        ways.append(sum(f[: j + 1]) + max(prefixes) + (m - p) * (t[j] + w[j]) + suffix)
    return max(ways)


def test_gpipe_with_unequal_stages_is_two_flow_shops() -> None:
    """``sum t + (m-1)(max F + max B)``, in either order of the backwards."""
    assert [item.micro_batch for item in gpipe(2, 3).orders[0]] == [0, 1, 2, 2, 1, 0]
    for rng, p, m, style in instances(1, 400):
        f, b = random_stages(rng, p, 2, style)
        expected = sum(f) + sum(b) + (m - 1) * (max(f) + max(b))
        assert makespan(gpipe(p, m), f, b) == expected
        assert makespan(gpipe(p, m, reverse_backward=False), f, b) == expected


def test_one_f_one_b_with_unequal_stages() -> None:
    for rng, p, m, style in instances(2, 1600):
        f, b = random_stages(rng, p, 2, style)
        t = total(f, b)
        simulated = makespan(one_f_one_b(p, m), f, b)
        assert simulated == one_f_one_b_makespan(f, b, m)
        assert max(m * t[j] + sum(t[:j]) for j in range(p)) <= simulated <= (m + p - 1) * max(t)
        assert simulated <= makespan(gpipe(p, m), f, b)
        if style in (1, 2):
            assert simulated <= (m - 1) * max(t) + sum(t), "one ratio F : B on all stages"
        f[-1], b[-1] = max(f), max(b)
        assert makespan(one_f_one_b(p, m), f, b) == (m - 1) * (f[-1] + b[-1]) + sum(f) + sum(b)


def test_zero_bubble_h1_with_unequal_stages() -> None:
    for rng, p, m, style in instances(3, 1200):
        f, b, w = random_stages(rng, p, 3, style)
        t = total(f, b, w)
        simulated = makespan(zero_bubble_h1(p, m), f, b, w)
        assert max(sum(f[:j]) + m * t[j] for j in range(p)) <= simulated
        assert simulated <= equal_zero_bubble_h1(p, m, max(f), max(b), max(w))
        if m >= p:
            assert simulated == zero_bubble_h1_makespan(f, b, w, m)
            # Short form: W_i <= min(F_i, B_i), and the last stage has the largest F, B and W.
            w = [min(times) for times in zip(f, b, w, strict=True)]
            f[-1], b[-1], w[-1] = max(f), max(b), max(w)
            tails = (sum(b[e : p - 1]) + (e + 1) * w[e] - p * w[-1] for e in range(p))
            short = sum(f[:-1]) + m * (f[-1] + b[-1] + w[-1]) + max(0, *tails)
            assert makespan(zero_bubble_h1(p, m), f, b, w) == short


def test_interleaved_with_unequal_stages_is_bounded() -> None:
    for rng, p, _, style in instances(5, 500):
        v, groups, whole = rng.randint(1, 4), rng.randint(1, 3), rng.random() < 0.5
        m = p * groups
        f, b = random_stages(rng, p * v, 2, style)
        t = total(f, b)
        schedule = interleaved(p, v, m, single_group_all_forward=whole)
        simulated = makespan(schedule, f, b)
        device = [m * sum(t[j::p]) + sum(t[:j]) for j in range(p)]
        assert max(device) <= simulated <= (m * v + p - 1) * (max(f) + max(b))
        # Equal chunks and an output layer on the last: exact.
        heavy_f, heavy_b = ([x[0]] * (p * v - 1) + [x[0] + x[-1]] for x in (f, b))
        assert makespan(schedule, heavy_f, heavy_b) == (m * v + p - 1) * t[0] + m * t[-1]
        if style in (1, 2):  # the chunks of a device alike, one ratio F : B
            t = t[:p]
            simulated = makespan(schedule, f[:p] * v, b[:p] * v)
            assert max(m * v * t[j] + sum(t[:j]) for j in range(p)) <= simulated
            assert simulated <= (m * v - 1) * max(t) + sum(t)


def test_a_deadlock_names_the_stuck_items() -> None:
    good = one_f_one_b(2, 1)
    swapped = replace(good, orders=(good.orders[0], good.orders[1][::-1]))
    with pytest.raises(DeadlockError, match=r"device 1 at B\(micro-batch 0, stage 1\)") as caught:
        makespan(swapped, [1], [1])
    assert caught.value.stuck == {0: Item(Kind.B, 0, 0), 1: Item(Kind.B, 0, 1)}


def test_a_schedule_must_hold_every_item_once() -> None:
    good = one_f_one_b(2, 2)
    first, second = good.orders
    for changed in (first[:-1], (*first, first[0]), (*first[:-1], second[-1])):
        with pytest.raises(ValueError, match="device 0 must run each of its 4 items once"):
            replace(good, orders=(changed, second))


def test_bad_arguments_are_refused() -> None:
    schedule = one_f_one_b(2, 2)
    for times, send_s, message in (
        (([1.0, math.nan], [1.0]), 0.0, "forward_s must be finite"),
        (([1.0], [1.0, -1.0]), 0.0, "backward_s must be finite"),
        (([1.0], [1.0]), math.inf, "send_s must be finite"),
        (([1.0, 1.0, 1.0], [1.0]), 0.0, "forward_s must have 2 values, got 3"),
        (([1.0], [1.0], [1.0]), 0.0, "weight_grad_s must have 0 values, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            run(schedule, *times, send_s=send_s)
    with pytest.raises(ValueError, match="multiple of p, got m=5, p=2"):
        interleaved(2, 2, 5)
    with pytest.raises(ValueError, match="m must be at least 1, got 0"):
        one_f_one_b(2, 0)
