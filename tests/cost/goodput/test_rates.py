"""Failure rates: sites of the database, their posteriors, and what they say of a site not seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from planner.base.errors import InputError
from planner.base.vocabulary import FAILURE_SITES
from planner.cost.goodput.rates import (
    HOUR_S,
    T_90,
    Z_90,
    left_out,
    rate_of_chip,
    rate_of_site,
    rate_unseen,
    sites,
)


def test_quantiles_are_those_of_scipy() -> None:
    degrees = np.arange(1, len(T_90) + 1)
    assert list(T_90) == pytest.approx(stats.t.ppf(0.9, degrees), rel=1e-6)
    assert pytest.approx(stats.norm.ppf(0.9), rel=1e-12) == Z_90


@pytest.mark.parametrize("name", list(sites()))
def test_a_named_site_has_its_gamma_posterior(name: str) -> None:
    site, rate = sites()[name], rate_of_site(name)
    posterior = stats.gamma(site.failures + 0.5, scale=1.0 / site.exposure_s)
    low, high = 1.0 / posterior.ppf(0.9), 1.0 / posterior.ppf(0.1)
    assert [rate.low_s, rate.high_s] == pytest.approx([low, high], rel=2e-3)
    assert rate.low_s < rate.theta_s < rate.high_s
    assert site.source


def test_help_names_the_sites_of_the_database() -> None:
    assert tuple(sites()) == FAILURE_SITES


def test_figures_of_the_sources() -> None:
    hours = {name: rate_of_site(name).theta_s / HOUR_S for name in sites()}
    assert hours["llama-3"] == pytest.approx(54 * 24 * 16_384 / 419, rel=1e-3)
    assert hours["rsc-1"] == pytest.approx(8 * 24 * 1000 / 6.50, rel=1e-3)
    assert hours["rsc-2"] == pytest.approx(8 * 24 * 1000 / 2.34, rel=1e-3)
    assert hours["rsc-1"] / 16_384 == pytest.approx(1.8, rel=5e-3), "as the paper projects"
    assert hours["rsc-1"] / 131_072 == pytest.approx(0.23, rel=0.03)
    assert hours["opt-175b"] == pytest.approx(60 * 24 * 992 / 105, rel=1e-3)


def test_an_unseen_site_is_predicted_from_the_logarithms_of_the_others() -> None:
    thetas = [1e4, 3e4, 2e4, 9e4]
    rate = rate_unseen(thetas, "")
    logs = np.log(thetas)
    half = stats.t.ppf(0.9, 3) * logs.std(ddof=1) * math.sqrt(1.25)
    assert [rate.low_s, rate.theta_s, rate.high_s] == pytest.approx(
        np.exp(logs.mean() + half * np.array([-1, 0, 1])), rel=1e-6
    )


def test_the_predictive_interval_covers_sites_not_seen() -> None:
    random = np.random.default_rng(1)
    draws = np.exp(random.normal(0.0, 1.3, (2000, 5)))
    inside = 0
    for *seen, new in draws.tolist():
        rate = rate_unseen(seen, "")
        inside += rate.low_s <= new <= rate.high_s
    assert inside / len(draws) == pytest.approx(0.8, abs=0.03)


def test_sites_that_are_left_out() -> None:
    found = {site.name: rate for site, rate in left_out()}
    assert set(found) == {"llama-3", "rsc-1", "rsc-2", "opt-175b"}, "those that counted all"
    assert all(rate.low_s < rate.theta_s < rate.high_s for rate in found.values())


@pytest.mark.parametrize("chip", ["h100-sxm5-80", "h100-pcie-80", "a100-sxm4-40"])
def test_kinds_of_chips_with_sites(chip: str) -> None:
    rate = rate_of_chip(chip)
    assert rate is not None
    assert rate.high_s / rate.low_s > 10, "sites differ far"


@pytest.mark.parametrize("chip", ["tpu-v5p", "gb300-nvl72-gpu", "mi300x", "h200-sxm5-141",
                                  "b200-sxm-180", "trainium2", "a100"])  # fmt: skip
def test_kinds_of_chips_without_sites_are_unknown(chip: str) -> None:
    assert rate_of_chip(chip) is None


def test_sites_and_counts_that_do_not_exist() -> None:
    with pytest.raises(InputError, match="failure-site: 'llama3' is not one of llama-3, "):
        rate_of_site("llama3")
    with pytest.raises(ValueError, match="2 sites"):
        rate_unseen([1.0, 2.0], "")
