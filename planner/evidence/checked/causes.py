"""Which part of a step is likely off, by how the step time depends on it.

With elasticities e_c of the step time in the constants c, whose logarithms are believed to vary by
sigma_c (`planner.evidence.calibration.constants`), and independent of one another, the error of the
prediction has the variance sum of (e_c sigma_c)^2. One measured ratio r says how far the whole is
off; what a part is expected to bring of it is its share of that variance (the posterior of a linear
model with normal priors and one observation):

    share_p = sum over c in p of (e_c sigma_c)^2  /  sum over all c

A part that alone explains r takes f times as long: 1 + (r - 1) / s, with s the share of the step
that grows with it, the sum of |e_c| over its rates and times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.evidence.calibration.launches.candidates import step_priors, step_time
from planner.evidence.calibration.launches.value import gradient
from planner.evidence.calibration.posterior import Prior
from planner.evidence.checked.answer import Suspect
from planner.evidence.runs.rows import Run

_LEAST = 0.01
"""Shares of the variance below this are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the step.

    Attributes:
        words: What it is.
        starts: What the paths of its constants begin with.
        sizes: What the paths of those begin with that are neither rates nor times, or whose time
            another one has in it.
        tells: What would tell it from the others.
        command: What is typed for that.
    """

    words: str
    starts: tuple[str, ...]
    sizes: tuple[str, ...] = ()
    tells: str
    command: str


_PARTS = (
    _Part(
        words="the installation as a whole",
        starts=(SITE_FACTOR,),
        tells="runs of other plans: all are off by the same factor",
        command="planner calibrate --runs runs.csv",
    ),
    _Part(
        words="multiplications and attention",
        starts=("gemm_efficiency.", "gemm.", "precision.", "attention_efficiency."),
        sizes=("gemm.half_",),
        tells="multiplications of the model's shapes on one device",
        command="planner calibrate --measure",
    ),
    _Part(
        words="memory-bound kernels",
        starts=("memory_efficiency", "era.{}.elementwise"),
        sizes=("era.",),
        tells="a profiler's trace: seconds of the other kernels",
        command="planner measure",
    ),
    _Part(
        words="the host",
        starts=("era.{}.host_s_per_layer", "era.{}.fixed_s_per_layer"),
        tells="a profiler's trace: seconds without a kernel; or twice the micro-batch",
        command="planner measure",
    ),
    _Part(
        words="links inside a node",
        starts=("network.scale_up_",),
        tells="nccl-tests on one node",
        command="planner calibrate --nccl all_gather.txt",
    ),
    _Part(
        words="the network between nodes",
        starts=("network.scale_out_",),
        tells="nccl-tests on two nodes or more",
        command="planner calibrate --nccl all_gather-2-nodes.txt",
    ),
)


def suspects_of(run: Run, base: Calibration, ratio: float) -> tuple[Suspect, ...]:
    """The parts that may explain a ratio, the likeliest first.

    Args:
        run: The plan of a job on a cluster.
        base: The shipped constants.
        ratio: Measured over predicted step time.
    """
    priors = step_priors(run, base)
    slopes = gradient(step_time(run, base), priors)[0]
    varied = (slopes * np.array([one.sigma for one in priors])) ** 2
    found = []
    for part in _PARTS:
        own = [at for at, one in enumerate(priors) if _belongs(one, part.starts)]
        share = float(varied[own].sum() / varied.sum()) if own else 0.0
        if share >= _LEAST:
            found.append(_suspect(part, share, _grows(part, priors, slopes, own), ratio))
    return tuple(sorted(found, key=lambda one: -one.share))


def _suspect(part: _Part, share: float, grows: float, ratio: float) -> Suspect:
    factor = 1 + (ratio - 1) / grows if grows > 0 else 0.0
    return Suspect(
        part=part.words,
        share=share,
        elasticity=grows,
        factor=factor if factor > 0 else None,
        tells=part.tells,
        command=part.command,
    )


def _grows(part: _Part, priors: Sequence[Prior], slopes: np.ndarray, own: Sequence[int]) -> float:
    """The share of the step that grows with a part."""
    return float(sum(abs(slopes[at]) for at in own if not _belongs(priors[at], part.sizes)))


def _belongs(prior: Prior, starts: Sequence[str]) -> bool:
    """Whether the path of a constant begins so; `{}` stands for any one word."""
    words = prior.path.split(".")
    anonymous = ".".join(["era", "{}", *words[2:]]) if words[0] == "era" else prior.path
    return any(anonymous.startswith(start) for start in starts)
