"""A slow link between a chip and a switch: the whole level goes at its pace."""

from dataclasses import replace

import pytest
from support.cases import each
from support.jobs import cost_model

from hardware_db import load_cluster
from models_db import load_model
from planner.base.errors import InputError
from planner.cost.evaluate import evaluate_table
from planner.explanation.sensitivity.numbers import faster_level
from planner.machine.degraded import read_degraded, with_degraded
from planner.plan import Plan, PlanTable

NAME, CHIPS = "dgx-h100-ndr", 512
PLANS = PlanTable.from_plans([
    Plan(dp=32, tp=4, pp=4, micro_batch=1, sharding="zero1"),
    Plan(dp=8, tp=8, cp=8, micro_batch=1, sharding="zero1"),
    Plan(fsdp=512, micro_batch=1, sharding="zero3"),
])  # fmt: skip


@each("level", ["nvlink", "leaf", "spine"])
def test_a_slow_port_slows_its_level_and_no_other(level: str) -> None:
    cost = cost_model(load_model("llama3-70b"), NAME, global_batch=512)
    cluster = load_cluster(NAME)
    levels = tuple(
        faster_level(one, 0.25) if one.name == level else one for one in cost.cluster.levels
    )
    slower = replace(cost, cluster=replace(cost.cluster, levels=levels))
    port = replace(cost, cluster=with_degraded(cluster, [f"{level}:3=0.25"]))
    times = [evaluate_table(model, PLANS).step_time_s for model in (cost, slower, port)]
    assert times[2] == pytest.approx(times[1], rel=1e-12)
    assert (times[2] > times[0]).any()


@each(
    ("hardware", "word", "said"),
    [
        (NAME, "leaf:0-1=0.5", "a chip has a link to a switch, not to another chip; name one chip"),
        (NAME, "leaf:3=0", "a chip whose link has failed takes no part"),
        (NAME, "leaf:256=0.5", "256: chips of a domain of leaf are 0 to 255"),
        ("v100-32gb-edr", "nvlink:0=0.5", "links are between two chips"),
    ],
)
def test_what_is_no_link(hardware: str, word: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        with_degraded(load_cluster(hardware), read_degraded(word))


def test_a_chip_and_itself_are_no_pair() -> None:
    with pytest.raises(ValueError, match="two different chips, or one alone"):
        read_degraded("leaf:1-1=0.5")
