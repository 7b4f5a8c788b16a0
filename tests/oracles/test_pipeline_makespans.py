"""Pipelines that are simulated together, against each of them alone."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from oracles.pipeline_makespans import makespans_s
from oracles.pipeline_simulator import Durations, simulate
from oracles.test_pipeline_simulator import ALL_SCHEDULES


@each("name", [name for name, build in ALL_SCHEDULES.items() if not build(2, 2).split_backward])
def test_many_durations_together_take_what_each_takes_alone(name: str) -> None:
    rng = np.random.default_rng(1)
    schedule = ALL_SCHEDULES[name](3, 4)
    many = [
        Durations(forward_s=f, backward_s=b, send_s=send)
        for f, b, send in zip(
            *rng.random((2, 5, schedule.stages)), (0.0, 0.1, 0.2, 0.5, 2.0), strict=True
        )
    ]
    alone = [simulate(schedule, durations).makespan_s for durations in many]
    assert makespans_s(schedule, many).tolist() == alone
    with pytest.raises(ValueError, match="finite"):
        makespans_s(schedule, [replace(many[0], send_s=-1.0)])
