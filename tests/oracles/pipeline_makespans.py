"""How long many pipelines of one schedule take, simulated together."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from oracles.pipeline_simulator import Durations, Item, Kind, Schedule, sequence


def makespans_s(schedule: Schedule, many: Sequence[Durations]) -> npt.NDArray[np.float64]:
    """`simulate(schedule, durations).makespan_s` of many durations in one walk, shape ``(n,)``.

    The items run in the same order whatever they take; only F and B, and every send is charged.
    """
    assert not schedule.split_backward
    for durations in many:
        durations.check(schedule)
        assert durations.charge_end_sends
    send_s = np.array([durations.send_s for durations in many])
    takes_s = {
        Kind.F: np.transpose([durations.forward_s for durations in many]) + send_s,
        Kind.B: np.transpose([durations.backward_s for durations in many]) + send_s,
    }
    end_s: dict[Item, npt.NDArray[np.float64]] = {}
    free_s = np.zeros((len(schedule.orders), len(many)))
    for device, item, needed in sequence(schedule):
        start_s = free_s[device]
        for other in needed:
            start_s = np.maximum(start_s, end_s[other])
        free_s[device] = end_s[item] = start_s + takes_s[item.kind][item.stage]
    makespans: npt.NDArray[np.float64] = free_s.max(axis=0)
    return makespans
