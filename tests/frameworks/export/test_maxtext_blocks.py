"""The blocks of tokens in which MaxText attends on TPUs."""

from dataclasses import replace

import pytest
from support.cases import each

from frameworks.export.cases import CASES, Case
from planner.base.errors import InputError
from planner.frameworks.jax.maxtext.blocks import MAXTEXT_BLOCKS
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Plan, PlanTable
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["maxtext"]
OWN = {rule.name for rule in MAXTEXT_BLOCKS}


def attending(seq_len: int, cp: int = 1, *, ring: bool = True, hardware: str = "tpu-v5p") -> Case:
    plan = Plan(fsdp=16, cp=cp, cp_mode="ring" if ring else "all-to-all", sharding="zero3")
    plain = replace(CASES["slices"], model="llama3-8b", hardware=hardware, plan=plan)
    return replace(plain, seq_len=seq_len, global_batch=16)


def told(case: Case) -> list[str]:
    found = broken(case.cost(), PlanTable.from_plans([case.plan]), target=TARGET)
    return [line for rule, line in found if rule.name in OWN]


def blocks(case: Case) -> set[object]:
    """The sizes of blocks that an export names."""
    found = load_yaml(export_plan(case.cost(), case.plan, TARGET).files[0].text)
    return {value for key, value in found.items() if key.startswith("sa_block_")}


RUNS = [
    (attending(4096), set()),
    (attending(384), set()),
    (attending(100), set()),
    (attending(640), {128}),
    (attending(768), {384}),
    (attending(7680), set()),
    (attending(7680, 4), {384}),
    (attending(7680, 4, ring=False), set()),
    (attending(1280, 2, ring=False), {256}),
    (attending(5000, hardware="dgx-h100-ndr"), set()),
]
STOPS = [
    (attending(5000), "sequences of 5000; nearest seq_len: 4992 or 5120"),
    (attending(1000), "nearest seq_len: 896 or 1024"),
    (attending(200), "nearest seq_len: 128 or 256"),
    (attending(5000, 2, ring=False), "nearest seq_len: 4992 or 5120"),
    (attending(3072, 16), "the 192 tokens of cp 16; nearest cp: 8"),
    (attending(64, 2, ring=False), "the 64 tokens of cp 2; nearest cp: 1"),
]


@each(("case", "sizes"), RUNS)
def test_blocks_divide_what_is_attended(case: Case, sizes: set[object]) -> None:
    assert told(case) == []
    assert blocks(case) == sizes


@each(("case", "line"), STOPS)
def test_sequences_without_blocks_are_refused(case: Case, line: str) -> None:
    assert any(one.endswith(line) for one in told(case))
    with pytest.raises(InputError):
        export_plan(case.cost(), case.plan, TARGET)
