"""What was measured in a folder, and what could be measured next, as experiments on the constants.

The launches and tests of collectives of the folder that were not run yet, and microbenchmarks of a
device, are the candidates. What was fitted already counts as done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hardware_db import Calibration, Cluster
from planner.assumptions.assumptions import calibrated
from planner.assumptions.local_file import SITE_FACTOR
from planner.base.arrays import FloatArray
from planner.base.units import plural
from planner.cost.kernels.compute import matmul_s
from planner.evidence.calibration.answer import Candidate
from planner.evidence.calibration.collectives import NOISE as COLLECTIVE_NOISE
from planner.evidence.calibration.collectives import predicted_collectives
from planner.evidence.calibration.constants import ADJUSTABLE, path_of, prior_of
from planner.evidence.calibration.launches.measured import Launched, MeasuredFolder
from planner.evidence.calibration.launches.parts import (
    NOISES,
    predicted_parts,
    telling,
)
from planner.evidence.calibration.launches.value import Experiment, Values, candidates
from planner.evidence.calibration.logs.nccl_log import CollectiveTime
from planner.evidence.calibration.measurement.measure import gemm_shapes
from planner.evidence.calibration.posterior import Prior
from planner.evidence.calibration.runs import NOISE as RUN_NOISE
from planner.evidence.calibration.runs import RunSet, with_values
from planner.evidence.calibration.systematic import SYSTEMATIC
from planner.evidence.runs.rows import Run

_SIZES = tuple(2.0**power for power in range(16, 31, 2))
_LEFT_OUT = ("power.", "precision.")
DEVICE = "planner calibrate --measure"


def next_measurements(
    folder: MeasuredFolder, base: Calibration, found: dict[str, float]
) -> tuple[Candidate, ...]:
    """What would narrow the prediction of the folder's job, the best first.

    Args:
        folder: What was measured.
        base: The shipped constants.
        found: Values after the measurements, by path.
    """
    job = folder.job
    priors = [replace(one, value=found.get(one.path, one.value)) for one in step_priors(job, base)]
    experiments = [
        *(_of_launch(one, base) for one in folder.launches),
        *_of_collectives(folder, base),
        _of_device(job, base),
    ]
    return candidates(step_time(job, base), experiments, priors)


def step_priors(job: Run, base: Calibration) -> list[Prior]:
    """The constants that the step of a job may rest on, each once, as before any measurement."""
    chip, era = job.cluster.chip, job.job.era
    found = {}
    for one in ADJUSTABLE:
        known = one.path == SITE_FACTOR or path_of(one.path, chip, era) in base.values
        if known and not one.path.startswith(_LEFT_OUT):
            prior = prior_of(one.path, base, chip, era)
            found[prior.path] = prior
    return list(found.values())


def step_time(run: Run, base: Calibration) -> Callable[[Values], FloatArray]:
    """From constants to the (1,) step time of a run."""
    runs = RunSet.of([run])

    def predict(values: Values) -> FloatArray:
        return np.asarray(runs.predicted_s(with_values(base, values)) * values[SITE_FACTOR])

    return predict


def _of_launch(one: Launched, base: Calibration) -> Experiment:
    """A launch with its log and, as its script makes one, a trace."""
    step, run = step_time(one.run, base), one.run
    counts = telling(predicted_parts([run], base)[0])
    noises = np.array(list(NOISES.values()))[counts]
    traced = not one.is_logged or one.time is not None

    def predict(values: Values) -> FloatArray:
        times = step(values)
        if not traced:
            return times
        return np.concatenate([times, predicted_parts([run], with_values(base, values))[0, counts]])

    noise = np.concatenate([[RUN_NOISE.usual], noises if traced else []])
    what = plural(run.job.model.layers, "layer")
    nodes = -(-run.plan.chips // run.cluster.node_chips)
    return Experiment(
        name=f"launch {one.name} ({what}, {plural(nodes, 'node')})",
        command=one.command,
        predict=predict,
        noise=noise,
        done=one.is_logged,
    )


def _of_collectives(folder: MeasuredFolder, base: Calibration) -> list[Experiment]:
    """Tests of collectives, by number of nodes; those whose texts are there were done."""
    nccl, job = folder.manifest.nccl, folder.job
    if nccl is None:
        return []
    found = []
    for nodes in nccl.nodes:
        done = [one for one in folder.collectives if one.nodes == nodes]
        times = done or _usual_sizes(job, nodes)
        found.append(
            Experiment(
                name=f"collectives on {plural(nodes, 'node')}",
                command=f"NODES={nodes} {nccl.command}" if nodes > 1 else nccl.command,
                predict=_collective_times(times, job.cluster, base),
                noise=COLLECTIVE_NOISE.usual,
                common=SYSTEMATIC,
                done=bool(done),
            )
        )
    return found


def _usual_sizes(job: Run, nodes: int) -> list[CollectiveTime]:
    """An all-gather of the sizes that the script tests."""
    ranks = nodes * min(job.cluster.node_chips, job.plan.chips)
    return [
        CollectiveTime(
            collective="all_gather", ranks=ranks, nodes=nodes, size_bytes=size, time_s=1.0
        )
        for size in _SIZES
    ]


def _collective_times(
    times: Sequence[CollectiveTime], cluster: Cluster, base: Calibration
) -> Callable[[Values], FloatArray]:
    return lambda values: predicted_collectives(times, cluster, with_values(base, values))


def _of_device(job: Run, base: Calibration) -> Experiment:
    """Multiplications of the model's shapes, on one device."""
    chip, precision = job.cluster.chip, job.job.precision
    m, n, k = np.array(gemm_shapes(job.job.model, quick=False), dtype=float).T

    def predict(values: Values) -> FloatArray:
        a = calibrated(chip, job.job.era, precision, with_values(base, values))
        ones = np.ones(1)
        return matmul_s(a, m, n, k, clock=ones, flop_per_s=a.matmul_flop_per_s)

    return Experiment(
        name="microbenchmarks of one device",
        command=f"{DEVICE} --model {job.job.model.name}",
        predict=predict,
        noise=RUN_NOISE.usual,
        common=SYSTEMATIC,
    )
