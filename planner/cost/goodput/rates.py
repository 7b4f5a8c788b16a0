r"""How often chips fail: chip-seconds per failure (theta), and how sure that is.

A job on N chips fails every M = theta / N seconds in the mean. theta is

- given: exact;
- that of a site with k failures in an exposure of E chip-seconds: E / k, its rate with the
  posterior Gamma(k + 1/2, E) of Jeffreys' prior;
- that of a site not seen: log theta of n sites is taken as normal, so that the next one is

      log theta = mean + s sqrt(1 + 1 / n) t,    t: Student's, n - 1 degrees of freedom

  (A. Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.2). That of a site counts once,
  since sites differ far more than their counts are unsure.

Only sites count that counted all interruptions of a job. Failed chips alone, without software,
hosts and network, are a lower bound. `hardware_db/data/reference/failures.yaml` has the sites and
sources.
"""

from __future__ import annotations

import math
from functools import lru_cache

from frozen_records import dataclass
from hardware_db import Reference, load_reference
from planner.base.errors import InputError
from planner.base.files import names_a_file
from planner.base.messages import not_one_of, one_line
from planner.base.units import HOUR_S, plural

Z_90 = 1.2815515655446004
T_90 = (
    3.0776835, 1.8856181, 1.6377444, 1.5332063, 1.4758840, 1.4397557, 1.4149239, 1.3968153,
    1.3830287, 1.3721836,
)  # fmt: skip
"""90 % quantiles of Student's t for 1, 2, ... degrees of freedom; a test compares with scipy."""
_WHOLE = "interruptions of a job"
_FEWEST = 3
"""Sites that a site not seen is predicted from, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What one site counted.

    Attributes:
        name, what: Of the site, and what it counted.
        chips: Kind of its chips, with which names of records begin.
        is_whole: Whether it counted all interruptions of a job, not failed chips alone.
        failures: How many.
        exposure_s: In so many chip-seconds.
        source: Address.
    """

    name: str
    what: str
    chips: str
    is_whole: bool
    failures: float
    exposure_s: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Chip-seconds per failure.

    Attributes:
        theta_s: Of the middle: given, counted, or the median of sites not seen.
        low_s, high_s: 10 % and 90 % quantiles.
        words: What it rests on.
    """

    theta_s: float
    low_s: float
    high_s: float
    words: str

    @staticmethod
    def exact(theta_s: float, words: str) -> Rate:
        """A rate that was given."""
        return Rate(theta_s=theta_s, low_s=theta_s, high_s=theta_s, words=words)


@lru_cache(maxsize=1)
def known() -> Reference:
    """The table of failures: sites, and what is usual."""
    return load_reference("failures")


@lru_cache(maxsize=1)
def sites() -> dict[str, Site]:
    """The sites of the database, by name."""
    table = known()
    names = dict.fromkeys(key.split(".")[1] for key in table.labels if key.startswith("sites."))
    found = {}
    for name in names:
        own = f"sites.{name}"
        failures, exposure = (table.quantities[f"{own}.{of}"] for of in ("failures", "exposure"))
        found[name] = Site(
            name=name,
            what=table.labels[f"{own}.what"],
            chips=table.labels[f"{own}.chips"],
            is_whole=table.labels[f"{own}.counts"] == _WHOLE,
            failures=failures.number,
            exposure_s=exposure.number,
            source=table.sources[failures.sources[0]].reference,
        )
    return found


def rate_of_site(name: str) -> Rate:
    """That of a site of the database, or of one's own in a file, by what it counted.

    Raises:
        InputError: There is no such site, or the file is none.
    """
    if names_a_file(name):
        return _own_rate(name)
    if name not in sites():
        hint = "; your own is a file of planner calibrate --failures"
        raise InputError(f"failure-site: {not_one_of(name, tuple(sites()))}{hint}")
    site = sites()[name]
    shape = site.failures + 0.5
    low, high = (site.exposure_s / _gamma_quantile(shape, z) for z in (Z_90, -Z_90))
    return Rate(
        theta_s=site.exposure_s / site.failures,
        low_s=low,
        high_s=high,
        words=f"that of {name} ({site.what})",
    )


def _own_rate(name: str) -> Rate:
    """That of the failures in a file."""
    from planner.cost.goodput.own_site import posterior_s, read_own_site  # noqa: PLC0415  (few ask)

    own = read_own_site(name)
    theta, low, high = posterior_s(own.failures, own.exposure_chip_hours * HOUR_S)
    words = f"that of {one_line(name)} ({plural(own.failures, 'failure')} of its own)"
    return Rate(theta_s=theta, low_s=low, high_s=high, words=words)


def rate_of_chip(chip: str) -> Rate | None:
    """That of a site not seen with chips of a record; None where no site published it.

    Sites of all kinds of chips together tell how far sites differ: there is one of some kinds.
    """
    whole = [site for site in sites().values() if site.is_whole]
    if not any(chip.startswith(f"{site.chips}-") for site in whole):
        return None
    return rate_of_unseen_site()


def rate_of_unseen_site() -> Rate:
    """That of one more site, from all that counted interruptions of jobs."""
    whole = [site for site in sites().values() if site.is_whole]
    kinds = " and ".join(sorted({site.chips.upper() for site in whole}))
    thetas = [site.exposure_s / site.failures for site in whole]
    return rate_unseen(thetas, f"that of a site not seen, from {len(whole)} of {kinds}")


def rate_unseen(thetas_s: list[float], words: str) -> Rate:
    """The predictive distribution of one more site.

    Args:
        thetas_s: Chip-seconds per failure of the sites seen, from 3 of them to 11.
        words: What it rests on.
    """
    n = len(thetas_s)
    if not _FEWEST <= n <= len(T_90) + 1:
        raise ValueError(f"{n} sites")
    logs = [math.log(theta) for theta in thetas_s]
    mean = sum(logs) / n
    spread = math.sqrt(sum((one - mean) ** 2 for one in logs) / (n - 1))
    half = T_90[n - 2] * spread * math.sqrt(1.0 + 1.0 / n)
    low, middle, high = (math.exp(mean + sign * half) for sign in (-1, 0, 1))
    return Rate(theta_s=middle, low_s=low, high_s=high, words=words)


def left_out() -> list[tuple[Site, Rate]]:
    """Each site that counted all, and what the others predict of it."""
    whole = [site for site in sites().values() if site.is_whole]
    return [
        (site, rate_unseen([o.exposure_s / o.failures for o in whole if o is not site], "the rest"))
        for site in whole
    ]


def _gamma_quantile(shape: float, z: float) -> float:
    """Quantile of Gamma(shape, 1) at a normal quantile (E. Wilson and M. Hilferty, PNAS 17, 1931).

    Within 0.2 % from a shape of 10 on.
    """
    return float(shape * (1.0 - 1.0 / (9.0 * shape) + z / (3.0 * math.sqrt(shape))) ** 3)
