"""What a calibration found: constants before and after, and whether they predict better."""

from __future__ import annotations

from dataclasses import asdict, field
from typing import Any

from frozen_records import dataclass
from planner.base.version import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One constant under measurements.

    Attributes:
        path: Dotted path in the calibration.
        unit: Its unit.
        prior, prior_sigma: Value before, and standard deviation of its logarithm.
        measured: What the measurements alone say; None where they do not give it by itself.
        value, sigma: After.
        learned: 1 - (sigma / prior_sigma)^2: 0 where the measurements say nothing.
        n: Measurements that it rests on.
        by: `runs`, `traces`, `nccl`, `gemm` or `measured`.
        kept: It stays at the prior, because the measurements say too little about it.
        meaning: What the constant is.
    """

    path: str
    unit: str
    prior: float
    prior_sigma: float
    measured: float | None
    value: float
    sigma: float
    learned: float
    n: int
    by: str
    kept: bool
    meaning: str

    @property
    def change(self) -> float:
        """Value over prior, minus one."""
        return self.value / self.prior - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One training run, predicted with and without the local constants.

    Attributes:
        id: As in the file.
        measured_s: Step time.
        shipped_s, local_s: Predicted with the shipped constants, and with the local ones.
        left_out_s: Predicted with local constants fitted to the other runs.
    """

    id: str
    measured_s: float
    shipped_s: float
    local_s: float
    left_out_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Mean absolute errors of predicted over measured step time, as shares.

    Attributes:
        choice: `shipped`, `site-factor` or `constants`.
        in_sample: On the runs that it was fitted to.
        left_out: On each run without it; None where there are fewer than 3 runs.
    """

    choice: str
    in_sample: float
    left_out: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputUsed:
    """A file, or a device, that was measured.

    Attributes:
        file: Its name; `device` for measurements of this machine.
        kind: `runs`, `log` and `trace` of a short launch, `nccl`, `gemm` or `measured`.
        sha256: Hash of its content.
        rows: Measurements used.
    """

    file: str
    kind: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A reference plan with and without the local constants.

    Attributes:
        plan: In words.
        shipped_s, local_s: Step time.
    """

    plan: str
    shipped_s: float
    local_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A measurement that was not made, and what it would do to the prediction of the job.

    Attributes:
        name: In words.
        command: What is typed to make it.
        sigma_before, sigma_after: Standard deviation of the logarithm of the job's step time that
            the constants leave, now and after it.
        fall: Expected fall of the variance.
    """

    name: str
    command: str
    sigma_before: float
    sigma_after: float
    fall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationResult:
    """The answer of `planner calibrate`.

    Attributes:
        based_on: The shipped calibration.
        date: Day of the fit, as YYYY-MM-DD.
        chips, eras: Where it was measured.
        inputs: What it was fitted to.
        findings: Every constant that was looked at.
        choice: What was fitted to the runs: `shipped`, `site-factor`, `constants`, or None
            without runs.
        errors: Of every choice.
        rows: The runs.
        effects: Reference plans.
        noise: Scatter of the runs about their common factor; None without runs.
        measurements: What the device and the short launches gave, by name; SI units in the names.
        candidates: Measurements that were not made, the most telling first; of short launches.
        notes: What to know, one sentence each.
        skipped: Rows that were left out, and why.
        file: Where it was written; empty: nowhere.
        seconds: Wall time.
    """

    based_on: str
    date: str
    chips: tuple[str, ...]
    eras: tuple[str, ...]
    inputs: tuple[InputUsed, ...]
    findings: tuple[Finding, ...]
    choice: str | None = None
    errors: tuple[Errors, ...] = ()
    rows: tuple[RunRow, ...] = ()
    effects: tuple[Effect, ...] = ()
    noise: float | None = None
    measurements: tuple[dict[str, Any], ...] = ()
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    file: str = ""
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data; see docs/json.md."""
        fields = asdict(self)
        for finding, found in zip(fields["findings"], self.findings, strict=True):
            finding["change"] = found.change
        return {"schema_version": SCHEMA_VERSION, **fields}
