"""Quantiles on synthetic sources with known coverage; the shipped section; its coverage."""

from collections.abc import Iterator
from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from support.cases import each

from hardware_db import load_calibration
from planner.evidence.left_out import coverage as page
from planner.evidence.left_out.interval_fit import (
    between_sources,
    classes,
    ends_of,
    few_sources,
    fit_intervals,
    pooled,
    sources_by_seen,
    within_site,
)
from planner.evidence.left_out.outcomes import Entry, Outcome, is_sound, weighted_quantiles, weights
from planner.evidence.left_out.tie_fit import pairs
from strict_yaml.reading import load as load_yaml

ROW = Outcome(
    line=1, source="a", cell="1", split="fit", gold=True, job="j", era="jax", kind="dense",
    seen="dense.jax.tpu", other_chip=False, choices=(1, 1), measured_s=1.0, predicted_s=1.0,
)  # fmt: skip


def rows(
    rng: np.random.Generator, sources: int, cells: int, between: float, within: float, **fields: str
) -> Iterator[Outcome]:
    """Rows whose errors are normal on two levels."""
    for source in range(sources):
        shift = rng.normal(0, between)
        for cell in range(cells):
            error = shift + rng.normal(0, within)
            yield replace(ROW, source=f"s{source}", cell=f"{cell}", measured_s=exp(error), **fields)


def weighted_share(found: list[Outcome], split: str) -> float:
    """Share of the sound rows of dense models in their intervals, by the weights of the fit."""
    fit = [one for one in found if is_sound(one) and one.split != "test"]
    given = classes(fit), set(sources_by_seen(fit))
    dense = [one for one in found if is_sound(one) and one.kind == "dense"]
    some = [one for one in dense if (one.split == "test") == (split == "test")]
    ends = [ends_of(one, *given) for one in some]
    inside = [low <= exp(one.error) <= high for one, (low, high) in zip(some, ends, strict=True)]
    return float(np.average(inside, weights=weights(some)))


def share_inside(low: float, high: float, sigma: float) -> float:
    """How much of a normal distribution of logarithms lies between two factors."""
    return float(norm.cdf(log(high) / sigma) - norm.cdf(log(low) / sigma))


def test_quantiles_of_equal_weights_are_those_of_the_sample() -> None:
    values = np.random.default_rng(1).normal(size=4001)
    found = weighted_quantiles(values, np.ones(4001), (0.1, 0.5, 0.9))
    assert found == pytest.approx(np.quantile(values, (0.1, 0.5, 0.9)), abs=2e-3)


def test_a_weight_of_two_is_two_values() -> None:
    values, levels = np.array([3.0, 1.0, 2.0]), (0.1, 0.4, 0.9)
    twice = np.array([3.0, 1.0, 2.0, 2.0])
    heavy = weighted_quantiles(values, np.array([1.0, 1.0, 2.0]), levels)
    assert heavy[[0, 2]] == pytest.approx(
        weighted_quantiles(twice, np.ones(4), levels)[[0, 2]], abs=0.4
    )
    assert weighted_quantiles(values, np.array([1.0, 1.0, 2.0]), (0.5,))[0] == 2.0


def test_quantiles_of_nothing() -> None:
    with pytest.raises(ValueError, match="no values"):
        weighted_quantiles(np.empty(0), np.empty(0), (0.5,))


def test_a_source_weighs_the_root_of_its_cells() -> None:
    some = [replace(ROW, cell=str(cell)) for cell in (1, 1, 1, 2, 3, 4)]
    some += [replace(ROW, source="b", cell="9")]
    found = weights(some)
    assert found[:6].sum() == pytest.approx(2.0)
    assert found[:3].sum() == pytest.approx(found[3])
    assert found[6] == 1.0


def test_intervals_hold_what_they_say_for_new_sources() -> None:
    rng = np.random.default_rng(7)
    found = [
        share_inside(*pooled(list(rows(rng, 40, 10, 0.1, 0.05)), None), sqrt(0.1**2 + 0.05**2))
        for _ in range(60)
    ]
    assert 0.77 <= np.mean(found) <= 0.83


@each("sources", [2, 4])
def test_few_sources_hold_at_least_what_they_say(sources: int) -> None:
    """A little more, because `many` knows the spread between sources better than it counts for."""
    rng = np.random.default_rng(3)
    many = between_sources(list(rows(rng, 400, 10, 0.1, 0.05)))
    found = [
        share_inside(*few_sources(list(rows(rng, sources, 10, 0.1, 0.05)), many), sqrt(0.0125))
        for _ in range(200)
    ]
    assert 0.79 <= np.mean(found) <= 0.86


def test_other_eras_widen_an_era_with_one_source() -> None:
    rng = np.random.default_rng(5)
    others = list(rows(rng, 20, 4, 0.2, 0.05))
    mine = [replace(o, source="mine", era="nanotron") for o in rows(rng, 1, 30, 0.0, 0.02)]
    mine = [replace(o, cell=str(at)) for at, o in enumerate(mine)]
    found = classes([*others, *mine])
    narrow = pooled(mine, None)
    low, high, own = found["dense.nanotron"]
    assert low < narrow[0]
    assert high > narrow[1]
    assert found["dense.any"][0] < low
    assert found["dense.any"][1] > high
    assert len(own) == 30


def test_a_site_factor_takes_the_shift_of_a_source_away() -> None:
    rng = np.random.default_rng(11)
    errors, some = within_site(list(rows(rng, 10, 12, 0.3, 0.02)), "dense")
    assert len(errors) == len(some) == 120
    assert np.quantile(np.abs(errors), 0.8) < 0.06
    assert within_site(list(rows(rng, 10, 3, 0.3, 0.02)), "dense")[1] == []


def test_pairs_share_the_error_of_their_job() -> None:
    rng = np.random.default_rng(13)
    some = [
        replace(o, source=f"{at % 3}", job=str(at), predicted_s=p, measured_s=o.measured_s * p)
        for at in range(12)
        for o, p in zip(rows(rng, 1, 5, 0.5, 0.02), (1.0, 1.02, 1.05, 1.1, 9.0), strict=True)
    ]
    near = pairs(some)
    assert (near.jobs, near.sources) == (12, 3)
    assert len(near.errors) == 12 * 6  # the fifth plan is no near one
    assert near.weights.sum() == pytest.approx(3 * 4**0.5)
    assert np.quantile(near.errors, 0.8) < 0.06
    assert not near.apart.any()
    moved = [replace(o, choices=(1, 2)) if at % 2 else o for at, o in enumerate(some)]
    assert set(pairs(moved).apart) == {0, 1}


def test_what_intervals_rest_on() -> None:
    assert is_sound(ROW)
    assert not is_sound(replace(ROW, gold=False, source="nanotron-top5"))
    assert is_sound(replace(ROW, gold=False, source="mbridge26-moe"))
    assert not is_sound(replace(ROW, source="nanotron-rest"))


def test_what_no_other_source_has_is_a_class_of_its_own() -> None:
    rng = np.random.default_rng(17)
    known = list(rows(rng, 12, 5, 0.05, 0.02))
    new = [
        replace(o, source=f"new{at}", seen=f"dense.jax.chip{at}")
        for at in range(8)
        for o in rows(rng, 1, 5, 0.4, 0.02)
    ]
    found = classes([*known, *new])
    assert {o.source for o in found["unseen"][2]} == {o.source for o in new}
    assert {o.source for o in found["dense.any"][2]} == {o.source for o in known}
    narrow = ends_of(known[0], found, {"dense.jax.tpu"})
    wide = ends_of(new[0], found, {"dense.jax.tpu"})
    assert narrow == found["dense.jax"][:2]
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_without_a_source_the_others_make_the_intervals(found: list[Outcome]) -> None:
    changed = page.with_intervals({"mpt": {"gemm.half_k": 60.0}}, found)
    assert changed["mpt"]["gemm.half_k"] == 60.0
    rest = [o for o in found if o.source != "mpt"]
    ends = {f"intervals.{entry.path}": entry.value for entry in fit_intervals(rest)}
    path = "intervals.time.dense.any.high"
    assert changed["mpt"][path] == float(f"{ends[path]:.4g}")
    counted = sources_by_seen(o for o in found if is_sound(o) and o.split != "test")
    path, sources = next((path, names) for path, names in counted.items() if len(names) == 1)
    assert changed[next(iter(sources))][path] is None


def test_the_section_replaces_itself_to_the_byte() -> None:
    text = "name: x\nconstants:\n  one: {value: 1}\nsources:\n  fit: {title: t}\n"
    entries = [
        Entry(path="time.a.low", value=0.912345, note="why"),
        Entry(path="time.a.rows", value=12),
        Entry(path="tie.b", value=1.0),
    ]
    dated = page.with_section(text, [Entry(path="time.core-2026.04.low", value=0.9)])
    found = load_yaml(dated)["constants"]["intervals"]["time"]["core-2026"]
    assert found["04"]["low"]["value"] == 0.9
    once = page.with_section(text, entries)
    assert once.startswith("name: x\nconstants:\n  one: {value: 1}\n  intervals:\n    time:\n")
    assert once.endswith("\nsources:\n  fit: {title: t}\n")
    assert "value: 0.9123\n" in once
    assert page.with_section(once, entries) == once
    assert page.with_section(once, entries[:2]).count("\n") < once.count("\n")
    with pytest.raises(ValueError, match="sources"):
        page.with_section("name: x\n", entries)


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    """Every shipped run, predicted."""
    return page.outcomes()


def test_the_shipped_section_is_what_the_data_give(found: list[Outcome]) -> None:
    shipped = load_calibration().values
    fitted = {f"intervals.{entry.path}": entry.value for entry in fit_intervals(found)}
    assert {path for path in shipped if path.startswith("intervals.")} == set(fitted)
    for path, value in fitted.items():
        assert shipped[path] == float(f"{value:.4g}"), path


def test_the_test_split_is_covered_as_often_as_it_says(found: list[Outcome]) -> None:
    """Rows weigh as in the quantiles: by their number one source of 202 would decide."""
    covered = {one.name: one for one in page.coverage(found)}
    dense, gold = covered["dense"], covered["gold"]
    assert dense.test_rows >= 180
    assert 0.75 <= weighted_share(found, "test") <= 0.85
    assert 0.75 <= weighted_share(found, "fit") <= 0.85
    assert gold.left_out is not None
    assert 0.72 <= gold.left_out <= 0.88


def test_experts_are_covered_as_often_as_it_says(found: list[Outcome]) -> None:
    """Of 32 rows one is 3 %: no more can be told than a binomial test does."""
    rows = [o for o in found if o.split == "test" and o.source.startswith("mbridge")]
    experts = [o for o in rows if o.kind == "experts"]
    shipped = load_calibration().group("intervals.time.experts")
    inside = [shipped["low"] <= exp(o.error) <= shipped["high"] for o in experts]
    assert binomtest(sum(inside), len(inside), 0.8).pvalue > 0.2
