"""What is said to be beyond a limit is told with so many digits that it is seen to be."""

import re
from functools import cache
from typing import Any

from support.cases import each

import planner
from planner.base.messages import distinguished
from planner.base.units import (
    show_bytes,
    show_days,
    show_percent,
    show_seconds,
    show_watt_hours,
    show_watts,
)
from planner.explanation.judging import over
from planner.results.plan import PlanResult

JOB: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "axes": ("dp",),
    "chips_exact": True, "train_tokens": 1e9, "fix": {"micro_batch": 8, "sharding": "zero1"},
}  # fmt: skip
NEAR = 1 - 1e-4


@each(("value", "limit", "show", "words"), [
    (0.3998, 0.4, show_percent, ("39.98 %", "40 %")),
    (0.3, 0.4, show_percent, ("30 %", "40 %")),
    (80.01e9, 80e9, show_bytes, ("80.01 GB", "80 GB")),
    (1.28407, 1.284, show_seconds, ("1.2841 s", "1.284 s")),
    (2000.3, 2000.2, show_seconds, ("2,000.3 s", "2,000.2 s")),
    (86400 * 30.01, 86400 * 30, show_seconds, ("30.01 d", "30 d")),
    (30.01, 30, show_days, ("30.01 days", "30 days")),
    (1e6 + 20, 1e6, show_watts, ("1.00002 MW", "1 MW")),
    (64.984e6, 64.983e6, show_watt_hours, ("64.984 MWh", "64.983 MWh")),
    (1.0, 1.0, show_watts, ("1 W", "1 W")),
])  # fmt: skip
def test_pairs(value: float, limit: float, show: Any, words: tuple[str, str]) -> None:
    assert distinguished(value, limit, show) == words


def test_what_forbids_a_plan() -> None:
    assert over(80.01e9, 80e9, "B") == "80.01 of 80 GB"


@cache
def best_of(aim: str) -> PlanResult:
    """The best plan without a limit that binds."""
    return planner.solve(**JOB, objective=aim, max_step_time=1e3).require()


def beyond(limit: str) -> float:
    """A little more than any plan keeps to."""
    best = best_of({"max_power": "power", "max_memory": "memory"}.get(limit, "time"))
    assert best.run is not None
    return {
        "min_mfu": best.mfu / NEAR,
        "max_step_time": best.step_time_s * NEAR,
        "max_power": best.power_w("facility") * NEAR,
        "max_memory": best.memory_per_chip_bytes * NEAR,
        "deadline": best.run.time_s * NEAR,
    }[limit]


@each("limit", ["min_mfu", "max_step_time", "max_power", "max_memory", "deadline"])
def test_why_no_plan_fits(limit: str) -> None:
    why = planner.solve(**JOB, **{limit: beyond(limit)}).diagnosis
    assert why is not None
    told = r"([\d.,]+ [%\w]+)(?: at the facility| on 8 chips)?,? (?:the limit is|of the) "
    found = re.search(rf"{told}([\d.,]+ [%\w]+)", why.explanation)
    assert found is not None, why.explanation
    assert found[1] != found[2], why.explanation
