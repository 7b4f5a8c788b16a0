"""A lower clock: arithmetic slows down as much, and needs less energy."""

import math
from dataclasses import replace

from cost.cases import case_of
from planner.cost.breakdown import Breakdown
from planner.plan import Plan


def test_the_arithmetic_part_is_inverse_in_the_clock() -> None:
    """With memory and overheads out of the way, compute is exactly 1 / f; the rest stays."""
    case = case_of().assuming(memory_bytes_per_s=1e30, matmul_overhead_s=0.0)
    plan = Plan(dp=2, tp=4, sharding="zero1")
    clocks = (1.0, 0.9, 0.8, 0.7, 0.6)
    found = case.run([replace(plan, clock=clock) for clock in clocks])
    for row, clock in enumerate(clocks):
        compute = found.time_parts["compute"]
        assert math.isclose(compute[row], compute[0] / clock, rel_tol=1e-12)
        for name in ("tensor_parallel", "memory_bound", "pipeline_transfer", "optimizer"):
            assert found.time_parts[name][row] == found.time_parts[name][0]


def energy_of(found: Breakdown, row: int) -> float:
    """Joules of a row."""
    return float(found.energy.total[row])


def test_lower_clock_saves_chip_energy_of_a_compute_bound_plan() -> None:
    """P = P_idle + A f V(f)^2 falls faster than time grows; host and network power do not."""
    case = case_of("llama3-8b", batch=512)
    plan = Plan(dp=8, sharding="zero1", sequence_parallel=False, micro_batch=2)
    found = case.run([plan, replace(plan, clock=0.8)])
    chip = case.cluster.chip
    standing = chip.host_w + sum(lv.switch_power_w_per_chip for lv in case.cluster.scale(8).levels)
    chips_only = [energy_of(found, r) - 8 * standing * found.step_time_s[r] for r in (0, 1)]
    assert chips_only[1] < 0.95 * chips_only[0]
    assert found.step_time_s[1] > found.step_time_s[0]
