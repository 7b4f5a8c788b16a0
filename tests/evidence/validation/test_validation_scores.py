"""Scores against small cases worked by hand, and against an independent enumeration."""

import itertools

import numpy as np
import pytest
from support.cases import each

from planner.evidence.runs.reading import of_sources as only
from planner.evidence.runs.reading import read_runs
from planner.evidence.validation.baselines import CITED, computed_peers, constant_mfu_s
from planner.evidence.validation.predicting import Predictions, predict
from planner.evidence.validation.scores import (
    choice_groups,
    choice_of,
    errors_of,
    is_test,
    of_sources,
    regret,
    score,
    spearman,
)
from planner.evidence.validation.targets import TARGETS, Target, reached


def test_errors_of_four_rows() -> None:
    predicted, measured = np.array([1.05, 0.9, 1.3, 2.0]), np.array([1.0, 1.0, 1.0, 2.0])
    found = errors_of(predicted, measured, predicted * 0.8, predicted * 1.2)
    assert found is not None
    assert found.rows == 4
    assert found.mean == pytest.approx((0.05 + 0.1 + 0.3 + 0) / 4)
    assert found.median == pytest.approx(0.075)
    assert found.bias == pytest.approx((0.05 - 0.1 + 0.3 + 0) / 4)
    assert found.p90 == pytest.approx(0.1 + 0.7 * 0.2)  # between the 3rd and 4th of 4 sizes
    assert (found.within_10, found.within_20) == (0.75, 0.75)
    assert found.coverage == 0.75  # 1.3 * 0.8 > 1
    assert errors_of(predicted[:0], measured[:0]) is None


def test_rank_correlation_with_ties() -> None:
    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 70.0])) == pytest.approx(1.0)
    assert spearman(np.array([3.0, 2.0, 1.0]), np.array([5.0, 6.0, 70.0])) == pytest.approx(-1.0)
    # ranks 1.5 1.5 3 and 1 2 3: covariance 1.5 / 3, deviations sqrt(1.5 / 3) and sqrt(2 / 3)
    tied = spearman(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert tied == pytest.approx(0.5 / np.sqrt(0.5 * 2 / 3))
    assert spearman(np.ones(3), np.array([1.0, 2.0, 3.0])) is None


def test_regret_of_the_predicted_best() -> None:
    measured = np.array([10.0, 11.0, 12.0, 20.0])
    assert regret(np.array([1.0, 2.0, 3.0, 4.0]), measured, 1) == 0
    assert regret(np.array([4.0, 3.0, 2.0, 1.0]), measured, 1) == pytest.approx(1.0)
    assert regret(np.array([4.0, 3.0, 2.0, 1.0]), measured, 3) == pytest.approx(0.1)
    assert regret(np.array([4.0, 3.0, 2.0, 1.0]), measured, 9) == 0
    # a tie of the 11 and the 20: half of each
    assert regret(np.array([2.0, 1.0, 2.0, 1.0]), measured, 1) == pytest.approx(0.55)


@each("k", [1, 2, 3, 4])
def test_regret_with_ties_is_the_mean_over_all_orders(k: int) -> None:
    random = np.random.default_rng(k)
    for _ in range(20):
        predicted = random.integers(0, 3, 6).astype(float)
        measured = random.uniform(1, 2, 6)
        least = []
        for order in itertools.permutations(range(6)):
            ranked = sorted(order, key=lambda row: predicted[row])  # stable: ties as in `order`
            least.append(measured[ranked[:k]].min())
        expected = np.mean(least) / measured.min() - 1
        assert regret(predicted, measured, k) == pytest.approx(expected)


def test_choice_over_groups() -> None:
    predicted = np.array([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    measured = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    found = choice_of(predicted, measured, [np.arange(3), np.arange(3, 6)])
    assert found is not None
    assert (found.groups, found.rows) == (2, 6)
    assert found.spearman == pytest.approx(0.0)
    assert (found.regret_1, found.regret_1_median, found.regret_1_most) == (1.0, 1.0, 2.0)
    assert found.regret_3 == 0
    assert choice_of(predicted, measured, []) is None


@pytest.fixture(scope="module")
def some() -> Predictions:
    """The runs of four small sources."""
    reading = only(read_runs(), ["vtrain-multi", "bloomtune", "simumax", "kempner"])
    return predict(reading)[0]


@each(("source", "groups", "rows"), [("vtrain-multi", 4, 73),
                                                        ("bloomtune", 6, 37)])  # fmt: skip
def test_groups_are_plans_of_one_job(
    some: Predictions, source: str, groups: int, rows: int
) -> None:
    """Those of BLOOM's tuning end where its optimizer began to add gradients up in 32 bits."""
    found = choice_groups(some, of_sources(some, [source]))
    assert (len(found), sum(map(len, found))) == (groups, rows)
    for group in found:
        runs = [some.runs[row].run for row in group]
        assert len({run.job for run in runs}) == 1
        assert len({run.plan.chips for run in runs}) == 1
        assert len({run.cluster for run in runs}) == 1
        assert len({run.plan for run in runs}) >= 3


def test_a_score_is_that_of_its_rows(some: Predictions) -> None:
    among = of_sources(some, ["vtrain-multi"])
    found = score("vtrain-multi", some, among)
    error = some.step_time_s[among] / some.measured_s[among] - 1
    assert found.rows == found.gold == 73
    assert found.time.mean == pytest.approx(np.abs(error).mean())
    test = (some.step_time_s / some.measured_s - 1)[among & is_test(some)]
    assert found.time_test is not None
    assert found.time_test.rows == found.test == len(test)
    assert found.time_test.mean == pytest.approx(np.abs(test).mean())
    assert found.memory is None
    with pytest.raises(ValueError, match="no rows"):
        score("nothing", some, np.zeros(len(some), dtype=bool))


def test_site_factors_multiply_the_whole_step(some: Predictions) -> None:
    among = of_sources(some, ["bloomtune"])
    found = score("bloomtune", some, among)
    (factor,) = set(some.site_factor[among])
    assert found.site_factors == (factor, factor)
    expected = np.abs(some.step_time_s * factor / some.measured_s - 1)[among].mean()
    assert found.site_time.mean == pytest.approx(expected)
    assert found.choice == found.site_choice
    with_it = some.with_site_factors()
    assert np.array_equal(with_it.high_s, some.high_s * some.site_factor)


def test_one_mfu_is_the_best_constant_of_the_fit_split(some: Predictions) -> None:
    among = of_sources(some, ["vtrain-multi"])
    seconds = constant_mfu_s(some, among, bubble=False)
    fitted = among & ~is_test(some)

    def error(factor: float) -> float:
        return float(np.abs(factor * seconds / some.measured_s - 1)[fitted].sum())

    assert all(error(1.0) <= error(factor) + 1e-9 for factor in np.linspace(0.5, 2, 301))
    share = some.mfu * some.step_time_s / seconds  # one MFU: the same for all
    assert np.ptp(share) == pytest.approx(0, abs=1e-12)
    plain, bubble = computed_peers(some, "vtrain-multi")
    assert plain.mean == pytest.approx(np.abs(seconds / some.measured_s - 1)[among].mean())
    assert bubble.spearman is not None
    assert all(peer.origin for peer in CITED)


def test_targets_are_met_by_their_figures_only(some: Predictions) -> None:
    def target(limit: float, least: float | None = None) -> Target:
        return Target(
            name="x", measure="mean error of the step time", limit=limit, least=least,
            sources=("simumax",), figure=lambda found: found.time.mean,
        )  # fmt: skip

    mean = score("simumax", some, of_sources(some, ["simumax"])).time.mean
    targets = [target(mean), target(mean - 1e-9), target(1.0, least=mean + 1e-9)]
    found = reached(some, ["simumax"], targets)
    assert [row.met for row in found] == [True, False, False]
    assert {row.reached for row in found} == {mean}
    assert found[0].test is not None
    assert found[0].test_met == (found[0].test <= 1.2 * mean)


def test_targets_over_sources_that_are_not_predicted_are_left_out(some: Predictions) -> None:
    known = ["vtrain-multi", "bloomtune", "simumax", "kempner", "mpt", "titan"]
    found = {(row.target, row.measure) for row in reached(some, known)}
    assert ("vtrain-multi", "mean regret") in found
    assert ("mpt", "mean error of the step time") not in found
    assert not any(name == "gold" for name, _ in found)
    assert len({(t.name, t.measure, t.site) for t in TARGETS}) == len(TARGETS)
