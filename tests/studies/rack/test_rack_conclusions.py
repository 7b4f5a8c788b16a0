"""What the report on ZeRO concludes, as answers of the solver."""

import pytest
from support.cases import each

from planner.studies.rack.solve.answer import RackAnswer
from planner.studies.rack.solve.request import rack_request
from planner.studies.rack.solve.solve import solve_rack


def ask(**given: str) -> RackAnswer:
    """The answer to flags."""
    request = rack_request(**given)
    return solve_rack(request.question, request.objective)


def least(**given: str) -> float:
    """The least value of the objective that is asked for."""
    value = ask(**given).value
    assert value is not None
    return value


FC = {"workload": "fc", "strategy": "zero"}


@each("total", [32, 64, 128])
def test_pes_scale_energy_better_than_chips(total: int) -> None:
    space = {"gpus": "2-12", "pes": "4,8,16,32,64", "total_pes": str(total)}
    answer = ask(**FC, **space, objective="energy")
    assert answer.best is not None
    assert answer.best.chips == 2
    assert answer.best.total_pes == total
    # As many PEs in more chips take no less time, and more energy.
    time = least(**FC, gpus="2", pes=str(total // 2))
    for chips in (4, 8):
        same = {"gpus": str(chips), "pes": str(total // chips), "total_pes": str(total)}
        if total // chips % 4 == 0:
            assert least(**FC, **same) >= time * (1 - 1e-9)
            assert least(**FC, **same, objective="energy") > 1.9 * least(
                **FC, gpus="2", pes=str(total // 2), objective="energy"
            )


@each("objective", ["time", "energy"])
def test_one_chip_with_all_the_pes_is_better_still(objective: str) -> None:
    space = {"pes": "4,8,16,32,64", "total_pes": "64", "objective": objective}
    one, two = ask(**FC, **space, gpus="1-12"), ask(**FC, **space, gpus="2-12")
    assert one.best is not None
    assert two.best is not None
    assert (one.best.chips, one.best.pes) == (1, 64)
    assert [point.chips for point in one.front] == [1]
    assert one.best.latency_s == pytest.approx(two.best.latency_s)
    assert one.best.energy_j == pytest.approx(2.503e-6, rel=1e-3)
    assert two.best.energy_j > 2 * one.best.energy_j
    assert not any("ZeRO" in line or "data rank" in line for line in one.why)


def test_more_pes_cost_no_energy_and_more_chips_do() -> None:
    start = {**FC, "gpus": "2", "pes": "32"}
    more_pes = {**FC, "gpus": "2", "pes": "64"}
    more_chips = {**FC, "gpus": "4", "pes": "32"}
    assert least(**more_pes) == pytest.approx(least(**start) / 2)
    assert least(**more_chips) == pytest.approx(least(**start) / 2)
    energy = least(**start, objective="energy")
    assert least(**more_pes, objective="energy") == pytest.approx(energy, rel=0.01)
    assert least(**more_chips, objective="energy") > 1.9 * energy


@each("chips", range(4, 13))
@each("objective", ["time", "energy"])
def test_ring_is_the_cheap_step_up_from_linear(chips: int, objective: str) -> None:
    question = {**FC, "gpus": str(chips), "pes": "64", "objective": objective}
    found = [ask(**question, max_links=str(links))
             for links in (chips - 1, chips, chips * (chips - 1) // 2)]  # fmt: skip
    names = [answer.best and answer.best.topology for answer in found]
    line, ring, full = (answer.value for answer in found)
    assert line is not None
    assert ring is not None
    assert full is not None
    bound = full < line  # small racks hide the fetch on any wiring
    if not bound:
        assert objective == "time"
        return
    assert names[:2] == ["linear", "ring"]
    assert names[2] == "fully-connected"  # where the ring is as fast it takes more energy
    added = chips * (chips - 1) // 2 - chips
    assert line - ring > (ring - full) / added
    (budget,) = found[0].budgets
    assert budget.next_limit == chips


def test_zero_pays_where_weights_are_a_small_share() -> None:
    rack = {"gpus": "12", "pes": "16", "topology": "linear", "batch": "12"}
    overhead = {}
    for workload, bytes_held in (("fc", 7680), ("conv", 2304)):
        for objective in ("time", "energy"):
            question = {**rack, "workload": workload, "strategy": "dp,zero", "objective": objective}
            free = ask(**question)
            limited = ask(**question, max_memory=str(bytes_held // 4))
            assert free.best is not None
            assert limited.best is not None
            assert not free.best.zero
            assert limited.best.zero
            assert limited.best.weight_bytes_per_chip <= bytes_held / 4
            assert free.value is not None
            assert limited.value is not None
            overhead[workload, objective] = limited.value / free.value
    assert overhead["fc", "time"] == pytest.approx(143 / 72, abs=2e-3)  # 198.6 % of the report
    assert 4.3 < overhead["fc", "energy"] < 5.0
    assert overhead["conv", "time"] == pytest.approx(1.0)
    assert 1.0 < overhead["conv", "energy"] < 1.05


def test_a_static_power_favours_short_runs() -> None:
    question = {"workload": "conv", "gpus": "2-12", "strategy": "zero", "objective": "energy"}
    request = rack_request(**question, hardware="report1-rack", static_power=True)
    answer = solve_rack(request.question, "energy")
    assert answer.best is not None
    assert answer.best.energy_by_part_j["static"] > 0
