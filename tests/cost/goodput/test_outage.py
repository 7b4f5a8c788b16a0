"""Going on with fewer chips against waiting for the repair: by hand, and second by second."""

from __future__ import annotations

import random

import numpy as np
import pytest

from planner.cost.goodput.outage import Detour


def tokens(until: int, stops: list[tuple[int, int]], rates: list[tuple[int, int, float]]) -> float:
    """Tokens by a time, counted second by second: rates hold from a time to another one."""
    done = 0.0
    for second in range(until):
        stands = any(begin <= second < end for begin, end in stops)
        done += 0.0 if stands else next((r for a, b, r in rates if a <= second < b), 0.0)
    return done


def test_by_hand() -> None:
    """Half the rate for 72 h: 600 s to begin, 660 s to come back, 600 s after waiting."""
    detour = Detour(rate=50.0, own_rate=100.0, in_s=600.0, back_s=660.0, restart_s=600.0)
    assert float(detour.gained_s(72 * 3600.0)) == pytest.approx(0.5 * (259200 - 600) - 60)
    assert float(detour.break_even_s) == 600 + 60 / 0.5 == 720
    assert float(detour.gained_s(720.0)) == 0.0
    assert float(detour.gained_s(721.0)) == pytest.approx(0.5)
    sooner = Detour(rate=50.0, own_rate=100.0, in_s=600.0, back_s=100.0, restart_s=600.0)
    assert float(sooner.break_even_s) == 600.0
    assert float(detour.gained_s(300.0)) == -60.0, "the plan never works, and is left all the same"


def test_as_counted_second_by_second() -> None:
    rng = random.Random(7)
    for _ in range(20):
        own, rate = rng.randint(50, 100), rng.randint(10, 49)
        into, back, restart, repair = (rng.randint(1, 400) for _ in range(4))
        into = min(into, repair)
        end = repair + max(back, restart) + 50
        waited = tokens(end, [(0, repair + restart)], [(0, end, own)])
        went_on = tokens(
            end, [(0, into), (repair, repair + back)], [(0, repair, rate), (repair, end, own)]
        )
        detour = Detour(rate=rate, own_rate=own, in_s=into, back_s=back, restart_s=restart)
        assert float(detour.gained_s(repair)) == pytest.approx((went_on - waited) / own)


def test_many_plans_at_once() -> None:
    rate = np.array([10.0, 50.0, 90.0])
    many = Detour(rate=rate, own_rate=100.0, in_s=600.0, back_s=700.0, restart_s=600.0)
    alone = [Detour(rate=one, own_rate=100.0, in_s=600.0, back_s=700.0, restart_s=600.0)
             for one in rate]  # fmt: skip
    assert many.break_even_s.tolist() == [float(one.break_even_s) for one in alone]
    assert many.gained_s(7200.0).tolist() == [float(one.gained_s(7200.0)) for one in alone]
    assert many.gained_s(many.break_even_s) == pytest.approx(np.zeros(3), abs=1e-9)
