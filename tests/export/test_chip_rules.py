"""Rules about chips: those that software sees as several devices, and those without kernels."""

from dataclasses import replace

import pytest

from export.cases import CASES, Case
from hardware_db import load_chip
from planner.plan import PlanTable
from planner.rules import applicable, broken
from planner.targets import TARGETS

SHARDED = CASES["dense-sharded"]
SEVERAL = {"mi250x": 2, "tpu-v2": 2, "tpu-v3": 2, "tpu-v7": 2, "trainium1": 2, "trainium2": 4}


def told(case: Case, target: str) -> dict[str, str]:
    table = PlanTable.from_plans([case.plan])
    return {rule.name: line for rule, line in broken(case.cost(), table, target=TARGETS[target])}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("hardware", ["mi250x-slingshot", "tpu-v2", "tpu-v3", "tpu-v7", "trn2"])
def test_chips_of_several_devices_are_refused_everywhere(target: str, hardware: str) -> None:
    case = replace(SHARDED, hardware=hardware)
    chip = case.cost().chip
    line = told(case, target)["chip-devices"]
    assert chip.title in line
    assert f"is {SEVERAL[chip.name]} devices" in line


def test_the_memory_of_a_device_is_said() -> None:
    line = told(replace(SHARDED, hardware="mi250x-slingshot"), "megatron")["chip-devices"]
    assert "of 64 GiB" in line


@pytest.mark.parametrize("hardware", ["dgx-h100-ndr", "mi300x-8way", "dgx-b200-ndr", "tpu-v5p"])
def test_other_chips_are_one_device(hardware: str) -> None:
    for target in TARGETS:
        assert "chip-devices" not in told(replace(SHARDED, hardware=hardware), target)


def test_a_search_without_a_target_takes_them() -> None:
    cost = replace(SHARDED, hardware="mi250x-slingshot").cost()
    assert "chip-devices" not in [rule.name for rule in applicable(cost.framework)]


@pytest.mark.parametrize(("name", "devices"), SEVERAL.items())
def test_records_say_how_many_devices_a_chip_is(name: str, devices: int) -> None:
    chip = load_chip(name)
    assert chip.devices == devices
    assert chip.quantities["devices"].value == devices
