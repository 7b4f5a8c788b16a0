"""The share of a device in the batch, as MaxText takes it."""

from dataclasses import replace

import numpy as np
from support.cases import each

from frameworks.export.cases import CASES, Case
from planner.frameworks.jax.maxtext.batch import batch_share
from planner.frameworks.rules import all_rules
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Plan, PlanTable
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["maxtext"]
SLICES = CASES["slices"]


@each("tokens", [4096, 6144, 7680, 5000])
def test_shares_give_rows_and_whole_tokens(tokens: int) -> None:
    rows, devices = (np.ravel(one) for one in np.mgrid[1:70:3, 8:1025:8])
    shares = batch_share(rows, devices, tokens)
    assert (shares > 0).all()
    for share, row, device in zip(shares, rows, devices, strict=True):
        assert int(float(share) * int(device)) == row
        assert (float(share) * tokens) % 1 == 0


def test_a_share_is_the_quotient_where_that_fits() -> None:
    assert batch_share(np.array([24]), np.array([96]), 4096) == 0.25


def test_devices_beyond_the_tokens_of_a_sequence_may_have_none() -> None:
    assert batch_share(np.array([2]), np.array([6400]), 256) == 0


def told(case: Case) -> list[str]:
    rule, cost = next(one for one in all_rules() if one.name == "maxtext-share"), case.cost()
    held = rule.holds(cost, PlanTable.from_plans([case.plan]))
    return [] if held[0] else [rule.explain(cost, case.plan)]


WIDE = replace(SLICES, model="gpt3-1.3b", seq_len=129, global_batch=20)
ROWS = Plan(dp=20, tp=80, sharding="ddp")


def test_a_micro_batch_without_a_share_is_told() -> None:
    (line,) = told(replace(WIDE, plan=ROWS))
    assert line.endswith("micro_batch 1 on 1600 devices has not; nearest micro_batch: 80")
    assert told(replace(WIDE, plan=replace(ROWS, micro_batch=80))) == []


def test_a_batch_of_a_pipeline_without_a_share_is_told() -> None:
    plan = Plan(dp=10, tp=80, pp=2, sharding="ddp", schedule="gpipe")
    (line,) = told(replace(WIDE, plan=plan))
    assert line.endswith("20 sequences on 1600 devices has not; nearest batch: 1600 sequences")
    assert told(replace(WIDE, plan=plan, global_batch=1600)) == []


def test_it_is_written() -> None:
    """24 rows on 960 devices: a fortieth of 4,100 tokens is no whole number."""
    plan = Plan(dp=24, tp=40, sharding="ddp", sequence_parallel=False)
    case = replace(SLICES, model="gpt3-13b", global_batch=24, seq_len=4100, plan=plan)
    gpus = replace(case, hardware="dgx-h100-ndr")
    text = export_plan(gpus.cost(), plan, TARGET, allow_lossy=True).files[0].text
    share = load_yaml(text)["per_device_batch_size"]
    assert int(share * 960) == 24
    assert share * 4100 == 103
