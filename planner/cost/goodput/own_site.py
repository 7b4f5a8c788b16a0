"""The failure rate of a site of one's own, as `planner calibrate --failures` writes it.

    failures: 62
    exposure_chip_hours: 3145728.0
    causes: {gpu: 40, network: 22}

The posterior is that of a site that is published: Gamma(k + 1/2, E) of failures per chip-second.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from planner.base.errors import InputError
from planner.base.files import read_yaml_text
from planner.base.messages import Origin, one_line
from planner.base.mistakes import mistakes
from planner.base.numerals import LEAST, MOST

_MOST_FAILURES = 10**15


def _day(value: Any) -> Any:
    """A date as text; YAML reads one without quotes as a date."""
    return value.isoformat() if isinstance(value, datetime.date) else value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LogModel(_Strict):
    """A log that was counted."""

    file: str
    sha256: str


class OwnSite(_Strict):
    """Failures of one's own chips."""

    note: str = ""
    date: Annotated[str, BeforeValidator(_day)] = ""
    planner: str = ""
    failures: Annotated[int, Field(ge=1, le=_MOST_FAILURES)] = Field(
        description="Interruptions of jobs."
    )
    exposure_chip_hours: Annotated[float, Field(ge=LEAST, le=MOST, allow_inf_nan=False)] = Field(
        description="Chips times hours in which they came."
    )
    causes: dict[str, int] = Field(default={}, description="How many by cause.")
    inputs: list[LogModel] = Field(default=[], description="What was counted.")


def read_own_site(name: str) -> OwnSite:
    """The failures in a file.

    Raises:
        InputError: The file cannot be read or is another kind; one line per mistake.
    """
    data, text = read_yaml_text(Path(name))
    try:
        return OwnSite.model_validate(data)
    except ValidationError as error:
        if "failures" not in data or "exposure_chip_hours" not in data:
            raise InputError(
                f"failure-site: {one_line(name)}: has no failures with their exposure_chip_hours, "
                "as planner calibrate --failures writes them"
            ) from error
        label = Origin(file=name, content=text.content).label
        raise InputError("\n".join(mistakes(error, label, OwnSite.model_fields))) from error


def posterior_s(failures: float, exposure_s: float) -> tuple[float, float, float]:
    """Chip-seconds per failure as counted, with the ends of the 80 % interval of the posterior."""
    from scipy.special import gammaincinv  # noqa: PLC0415  (only for one's own logs)

    low, high = (exposure_s / float(gammaincinv(failures + 0.5, p)) for p in (0.9, 0.1))
    return exposure_s / failures, low, high
