"""Steps under a limit on power at every moment: what clocks and pauses gain, and how well proved.

    python benchmarks/power_moments.py
    python benchmarks/power_moments.py --switching-ms 10

A row for each plan and limit, from one just above what one pass alone draws to one that changes
next to nothing, as shares of the way from what waiting chips draw to the plan's most at a moment:
the step with the fastest clock of all, of those with levels, that keeps to it ("-": none does), the
step with a clock for each operation and pauses, what that saves, the bound of all clocks and
pauses, its distance, and CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

from operation_clocks import Case

from planner.plan import Plan
from planner.search.operations.capped import under_power
from planner.search.operations.graph import step_operations

_SHARES = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
"""Of the way from waiting chips to the most at a moment."""


def cases() -> list[Case]:
    """The plans."""
    big = Plan(dp=2, tp=8, pp=4, micro_batch=1, sharding="zero1")
    h100 = "dgx-h100-ndr"
    plans = {
        "1f1b": big,
        "gpipe": replace(big, schedule="gpipe"),
        "zero-bubble": replace(big, schedule="zero-bubble"),
        "interleaved, 2 chunks": replace(big, schedule="interleaved", interleave=2),
    }
    few = replace(big, dp=4, tp=1)
    small = Case(name="1f1b", model="llama3-8b", hardware=h100, tokens=2**18, plan=few)
    return [
        small,
        *(
            Case(name=name, model="llama3-70b", hardware=h100, tokens=2**17, plan=plan)
            for name, plan in plans.items()
        ),
    ]


def rows(case: Case, switching_s: float) -> Iterator[str]:
    """The rows of a plan."""
    cost = case.cost()
    standing_w = step_operations(cost, case.plan).graph.per_second
    least_w = under_power(cost, case.plan, standing_w, "node_and_fabric", switching_s)
    most_w = least_w.as_it_is_w
    for share in _SHARES:
        limit_w = standing_w + share * (most_w - standing_w)
        started = time.process_time()
        found = under_power(cost, case.plan, limit_w, "node_and_fabric", switching_s)
        took_s = time.process_time() - started
        one, paused = found.one_clock, found.found
        if paused is None:
            continue
        same = "-" if one is None else f"{one[1]:.3f} s ({one[0]:g})"
        saved = "-" if one is None else f"{100 * (1 - paused.step_time_s / one[1]):.1f} %"
        yield (
            f"| {case.model} | {case.name} | {limit_w / 1e3:.1f} kW | {same} | "
            f"{paused.step_time_s:.3f} s | {saved} | {paused.pauses} | {paused.bound_s:.3f} s | "
            f"{100 * paused.gap:.1f} % | {took_s:.1f} s |"
        )


def main() -> None:
    """Prints the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--switching-ms", type=float, default=0.0, help="of a change of the clock")
    options = parser.parse_args()
    head = ["model", "plan", "limit", "one clock", "a clock for each", "saved", "pauses"]
    head += ["bound", "gap", "CPU"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for case in cases():
        for row in rows(case, options.switching_ms / 1e3):
            print(row, flush=True)


if __name__ == "__main__":
    main()
