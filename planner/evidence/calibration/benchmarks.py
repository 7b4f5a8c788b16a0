"""What is known of the constants as measurements come in, and what each kind of them adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, Chip, Cluster
from planner.assumptions.assumptions import calibrated
from planner.assumptions.fitted import UNFUSED
from planner.assumptions.local_file import SITE_FACTOR
from planner.assumptions.software import ERAS, FAMILIES
from planner.cost.kernels.compute import attention_s
from planner.evidence.calibration.answer import Finding
from planner.evidence.calibration.collectives import learn_collectives, paths_of
from planner.evidence.calibration.constants import path_of, prior_of, unit_of, words_of
from planner.evidence.calibration.gemm import check_rates, learn_gemms, templates_of
from planner.evidence.calibration.launches.parts import Traced, learn_parts
from planner.evidence.calibration.launches.parts import templates_of as templates_of_traces
from planner.evidence.calibration.logs.gemm_log import GemmTime
from planner.evidence.calibration.logs.nccl_log import CollectiveTime
from planner.evidence.calibration.measurement.measure import AttentionTime, Measured
from planner.evidence.calibration.posterior import Prior
from planner.evidence.calibration.runs import LEARNED, RunsFit, with_values
from planner.evidence.calibration.systematic import Learned, updated

_POWER_ERROR = 0.04  # of a board's sensor, and of one device for all of its kind; assumed
_DIGITS = 6
_NOTHING = 1e-3  # a share of the variance below which measurements say nothing
_POWER_OF = {"gemm": "busy", "wait": "wait", "idle": "idle"}


@dataclass(slots=True)
class Knowledge:
    """The constants so far.

    Attributes:
        base: The shipped calibration.
        chip, era: Whose constants are meant.
        calibration: The shipped one with what was found.
        priors: What was found, as priors of what comes next.
        findings: What was found.
    """

    base: Calibration
    chip: Chip
    era: str
    calibration: Calibration
    priors: dict[str, Prior]
    findings: list[Finding]

    @staticmethod
    def of(base: Calibration, chip: Chip, era: str) -> Knowledge:
        """Nothing but the shipped constants."""
        return Knowledge(base, chip, era, base, {}, [])

    def prior(self, template: str) -> Prior:
        """What is known of a constant now."""
        own = prior_of(template, self.base, self.chip, self.era)
        return self.priors.get(own.path, own)

    def add(
        self,
        prior: Prior,
        value: float,
        sigma: float,
        learned: float,
        *,
        n: int,
        by: str,
        measured: float | None = None,
    ) -> None:
        """Notes what measurements say of a constant; it stays where they say too little."""
        kept = learned < LEARNED and prior.path != SITE_FACTOR
        value = prior.value if kept else float(f"{value:.{_DIGITS}g}")
        sigma = prior.sigma if kept else sigma
        self.findings.append(
            Finding(
                path=prior.path,
                unit=unit_of(prior.path, self.base),
                prior=prior.value,
                prior_sigma=prior.sigma,
                measured=measured,
                value=value,
                sigma=float(f"{sigma:.3g}"),
                learned=float(f"{learned:.3g}") if learned >= _NOTHING else 0.0,
                n=n,
                by=by,
                kept=kept,
                meaning=words_of(prior.path),
            )
        )
        self.priors[prior.path] = replace(prior, value=value, sigma=sigma)
        self.calibration = with_values(self.calibration, {prior.path: value})

    def add_all(self, learned: Learned, *, n: int, by: str) -> None:
        """Notes what a benchmark says of its constants."""
        columns = (learned.priors, learned.values, learned.sigma, learned.learned)
        for prior, value, sigma, share in zip(*columns, strict=True):
            self.add(prior, float(value), float(sigma), float(share), n=n, by=by)

    def add_runs(self, fit: RunsFit, count: int) -> None:
        """Notes what training runs say of the site factor and the constants."""
        columns = (fit.priors, fit.values, fit.sigma, fit.learned)
        for prior, value, sigma, share in zip(*columns, strict=True):
            alone = fit.median_factor if prior.path == SITE_FACTOR else None
            self.add(
                prior, float(value), float(sigma), float(share), n=count, by="runs", measured=alone
            )


def from_gemms(known: Knowledge, times: Sequence[GemmTime], by: str, label: str) -> None:
    """What multiplications say.

    Raises:
        InputError: Some are impossible on the chip.
    """
    check_rates(times, known.chip, label)
    priors = [known.prior(template) for template in templates_of(times, known.chip)]
    learned = learn_gemms(times, known.chip, known.calibration, priors)
    known.add_all(learned, n=len(times), by=by)


def from_collectives(
    known: Knowledge, times: Sequence[CollectiveTime], cluster: Cluster, by: str
) -> None:
    """What collectives say.

    Raises:
        InputError: The cluster cannot hold the ranks of a test.
    """
    if not times:
        return
    priors = [known.prior(path) for path in paths_of(times)]
    learned = learn_collectives(times, cluster, known.calibration, priors)
    known.add_all(learned, n=len(times), by=by)


def from_traces(known: Knowledge, traced: Sequence[Traced]) -> None:
    """What profiler traces of short launches say."""
    if not traced:
        return
    priors = [known.prior(template) for template in templates_of_traces([t.run for t in traced])]
    learned = learn_parts(traced, known.calibration, priors)
    if learned is not None:
        known.add_all(learned, n=len(traced), by="traces")


def from_device(known: Knowledge, measured: Measured, cluster: Cluster) -> list[str]:
    """What microbenchmarks of a device say, and what of it was not used, a sentence each.

    Raises:
        InputError: Its multiplications are impossible on the chip of the cluster.
    """
    notes = []
    from_gemms(known, measured.gemms, "measured", "measure")
    for one in measured.attention:
        _from_attention(known, one)
    share = measured.copy_bytes_per_s / known.chip.memory_bandwidth_bytes_per_s
    if share > 1.05:
        notes.append(
            f"The copy reached {share:.2f} times the memory bandwidth of {known.chip.name}; it "
            "was not used."
        )
    else:
        _direct(known, "memory_efficiency", share)
    from_collectives(known, measured.collectives, cluster, "measured")
    for reading in measured.power:
        if state := _POWER_OF.get(reading.state):
            watts = reading.power_w / known.chip.tdp_w
            _direct(known, f"power.{state}_share_of_tdp", watts, _POWER_ERROR)
    if not measured.power:
        notes.append("Power cannot be read on this machine; its constants stay as they are.")
    return notes


def _direct(known: Knowledge, template: str, value: float, error: float | None = None) -> None:
    """A constant that was measured itself."""
    prior = known.prior(template)
    found = updated(prior, value) if error is None else updated(prior, value, error)
    known.add(prior, *found, n=1, by="measured", measured=value)


def _from_attention(known: Knowledge, one: AttentionTime) -> None:
    """The share of the peak of a kernel, from the model's own formula of both passes."""
    path = _attention_path(known, one.kernel)
    if path is None:
        return
    era = next(
        name
        for name, era in ERAS.items()
        if era.fused_attention
        and path_of("attention_efficiency.{attention}", known.chip, name) == path
    )
    own = prior_of("attention_efficiency.{attention}", known.base, known.chip, era)
    prior = known.priors.get(path, own)
    precision = next(name for name in ("bf16", "fp16") if name in known.chip.peak_flop_per_s)
    a = calibrated(known.chip, era, precision, known.calibration)
    tokens = np.array([float(one.batch * one.seq_len)])
    width = np.array([float(one.heads * one.head_dim)])
    times = attention_s(a, tokens, float(one.seq_len), width, float(one.head_dim), clock=np.ones(1))
    predicted = float((times.forward + times.backward)[0])
    measured = prior.value * predicted / one.time_s
    known.add(prior, *updated(prior, measured), n=1, by="measured", measured=measured)


def _attention_path(known: Knowledge, kernel: str) -> str | None:
    """Which constant a kernel is; on Hopper and newer, either has its own."""
    if known.chip.calibration_attention == UNFUSED:
        return None
    if known.chip.calibration_attention == "hopper":
        return f"attention_efficiency.{'cudnn' if kernel == 'cudnn' else 'fa2_hopper'}"
    key = known.chip.calibration_attention
    return f"attention_efficiency.{FAMILIES.get(key, key)}" if kernel == "flash" else None
