r"""Jobs that run on with fewer chips while nodes are under repair.

A share q of the failures pulls the nodes of a failure domain, which come back after V. While k
domains are away, the job runs on N_k chips with steps of t_k, or waits where there is no such size
any more. k goes up at the rate q N_k / theta and down at k / V: a birth-death process, whose law is

    p_k = p_0 prod (q N_j V / theta) / k!,    j = 0 .. k - 1,

whatever the law of the repair (as of Erlang's, `spares`). (Where no failure strikes during
downtimes, these are added to the times M_k = theta / N_k between failures.) With k away the time
goes as that of a job of N_k chips (`goodput`), and

    work = sum p_k T_k / E_k t_0 / t_k.

A failure that pulls nodes is followed by its downtime in k + 1, any other in k; so of the time
in k a share of d_k (1 - q + k M_k / V) is downtime, d_k of a job that never shrinks. When nodes
come back and the job grows, it saves and restarts as planned, nothing lost, for R, which the next
failure may cut short: by detailed balance q (1 - exp(-R / M_k)) of the time in the k that it grows
into. The rest of the time is up, as of a job of N_k chips that never shrinks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.goodput.goodput import Goodput, Pace, Upkeep, goodput


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """(k,) what a job runs at while 0, 1, 2, ... failure domains are away; then it waits.

    Attributes:
        chips: N_k.
        step_time_s: t_k.
    """

    chips: FloatArray
    step_time_s: FloatArray


def shrinking(theta_s: float, pace: Pace, upkeep: Upkeep, sizes: Sizes) -> Goodput:
    """Where the time of one plan goes that shrinks, beside the spares that it has.

    Args:
        theta_s: Chip-seconds per failure.
        pace: The plan at its whole size.
        upkeep: How the run is kept going; spares None: it has none.
        sizes: What it shrinks to.
    """
    spare = (upkeep.spares or 0) // upkeep.domain_nodes
    chips = np.concatenate([np.full(spare, sizes.chips[0]), sizes.chips])
    step_s = np.concatenate([np.full(spare, sizes.step_time_s[0]), sizes.step_time_s])
    p = _law(upkeep.pulled(theta_s, chips))
    alone = replace(upkeep, spares=None, maintenance=0.0)
    each = goodput(theta_s, replace(pace, chips=chips, step_time_s=step_s), alone)
    up, down = _up(each, chips, theta_s, upkeep)
    there = 1.0 - upkeep.maintenance
    faster = step_s[0] / step_s

    def mean(part: FloatArray) -> FloatArray:
        return np.asarray(there * (p[:-1] * part).sum())

    return Goodput(
        work=mean(each.work * up * faster),
        smaller=mean((each.work + each.stragglers) * up * (1.0 - faster)),
        stragglers=mean(each.stragglers * up * faster),
        stalls=mean(each.stalls * up),
        down=mean(down),
        lost=mean(each.lost * up),
        waits=np.asarray(there * p[-1]),
        maintenance=np.asarray(upkeep.maintenance),
        steps_between=each.steps_between[0],
        store_every=each.store_every[0],
        failures_per_s=mean(each.failures_per_s),
    )


def _up(
    each: Goodput, chips: FloatArray, theta_s: float, upkeep: Upkeep
) -> tuple[FloatArray, FloatArray]:
    """(k,) time up over that of a job that never shrinks, and the share of the time that is not."""
    away = np.arange(len(chips))
    between = upkeep.between_s(theta_s / chips)
    after = 1.0 - upkeep.node_share + away * between / upkeep.repair_s
    grows = chips != np.append(chips[1:], 0.0)
    restart = upkeep.restart_s / between
    cut = -np.expm1(-restart) if upkeep.while_down else restart
    planned = grows * upkeep.node_share * cut
    down = np.minimum(each.down * after + planned, 1.0)
    return (1.0 - down) / np.maximum(1.0 - each.down, 1e-300), down


def _law(ratios: FloatArray) -> FloatArray:
    """(k + 1,) the share of the time that each number of domains is away; the last: it waits."""
    counts = np.arange(1, len(ratios) + 1)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([[0.0], np.cumsum(np.log(ratios) - np.log(counts))])
    p: FloatArray = np.exp(logs - logs.max())
    return np.asarray(p / p.sum())
