"""Which measurement would narrow the prediction of a job most.

The posterior of the constants is linearized about their values: with the covariance S of their
logarithms and the gradient g of the logarithm of the job's step time, its variance is g' S g. A
measurement whose rows have the Jacobian H and the covariance R leaves

    S1 = (S^-1 + H' R^-1 H)^-1,        expected fall of the variance  g' S g - g' S1 g

which needs no outcome: in a linear model with normal noise it does not depend on it. S itself comes
from the priors and from what was measured by the same equation.

Source: Lindley, On a Measure of the Information Provided by an Experiment, Annals of Mathematical
Statistics 1956, doi:10.1214/aoms/1177728069; Chaloner and Verdinelli, Bayesian Experimental Design:
A Review, Statistical Science 1995, doi:10.1214/ss/1177009939, section 2.2 (the linear model).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.evidence.calibration.answer import Candidate
from planner.evidence.calibration.posterior import Prior

Values = Mapping[str, float]
_STEP = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Something that was or can be measured.

    Attributes:
        name: In words.
        command: What is typed to do it.
        predict: From constants by path to (n,) positive predictions.
        noise: Standard deviation of the logarithm of each, a number or (n,).
        common: Standard deviation of a factor that all of them share.
        done: It was.
    """

    name: str
    command: str
    predict: Callable[[Values], FloatArray]
    noise: float | FloatArray
    common: float = 0.0
    done: bool = False


def gradient(predict: Callable[[Values], FloatArray], priors: Sequence[Prior]) -> FloatArray:
    """(n, k) derivatives of the logarithms of n predictions by those of k constants."""
    values = {prior.path: prior.value for prior in priors}
    here = np.log(predict(values))
    columns = [
        (np.log(predict({**values, prior.path: prior.value * np.exp(_STEP)})) - here) / _STEP
        for prior in priors
    ]
    return np.stack(columns, axis=1)


def information(one: Experiment, priors: Sequence[Prior]) -> FloatArray:
    """(k, k) what an experiment adds to the inverse of the covariance: H' R^-1 H."""
    jacobian = gradient(one.predict, priors)
    n = len(jacobian)
    noise = np.broadcast_to(np.asarray(one.noise, dtype=float), (n,))
    covariance = np.diag(noise**2) + one.common**2
    return np.asarray(jacobian.T @ np.linalg.solve(covariance, jacobian))


def candidates(
    job: Callable[[Values], FloatArray],
    experiments: Sequence[Experiment],
    priors: Sequence[Prior],
) -> tuple[Candidate, ...]:
    """The experiments that were not done, the one that narrows the job's step time most first.

    Args:
        job: From constants to (1,) step time.
        experiments: What was done, and what can be.
        priors: The constants at their posterior values, with the sigmas from before it.
    """
    slope = gradient(job, priors)[0]
    inverse = np.diag([prior.sigma**-2 for prior in priors])
    inverse += sum(information(one, priors) for one in experiments if one.done)
    before = float(slope @ np.linalg.solve(inverse, slope))
    found = []
    for one in experiments:
        if one.done:
            continue
        after = float(slope @ np.linalg.solve(inverse + information(one, priors), slope))
        found.append(
            Candidate(
                name=one.name,
                command=one.command,
                sigma_before=float(np.sqrt(before)),
                sigma_after=float(np.sqrt(after)),
                fall=before - after,
            )
        )
    return tuple(sorted(found, key=lambda one: -one.fall))
