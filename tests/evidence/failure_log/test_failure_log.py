"""`planner calibrate --failures`: what is counted, what is refused, what takes the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import planner, refused
from scipy import stats
from support.cases import each

from planner.base.errors import InputError
from planner.cost.goodput.own_site import posterior_s
from planner.cost.goodput.rates import rate_of_site
from planner.evidence.failure_log.result import failure_rate

LOG = Path(__file__).parent / "made.csv"
"""Made by a seed, as its first line says."""
HEAD = "start,end,chips,cause\n"
JOB = ("solve", "--model", "gpt3-125m", "--hardware", "dgx-h100-ndr", "--chips", "8",
       "--train-tokens", "1T")  # fmt: skip


def test_a_log_has_its_posterior_by_cause(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    found = planner("calibrate", "--failures", LOG, "-o", site, "--json").document
    rows = [line.split(",") for line in LOG.read_text(encoding="utf-8").splitlines()[2:]]
    causes = [row[3] for row in rows if row[3] not in ("", "planned")]
    assert (found["rows"], found["all"]["failures"]) == (len(rows), len(causes))
    assert {one["cause"]: one["failures"] for one in found["causes"]} == {
        cause: causes.count(cause) for cause in causes
    }
    for one in (found["all"], *found["causes"]):
        law = stats.gamma(one["failures"] + 0.5, scale=1 / found["chip_hours"])
        assert one["low"] == pytest.approx(1 / law.ppf(0.9))
        assert one["high"] == pytest.approx(1 / law.ppf(0.1))
    assert found["all"]["low"] < 50_000 < found["all"]["high"], "what the log was made with"
    run = planner(*JOB, "--failure-site", site, "--json").document["training_run"]["goodput"]
    for mine, its in (("chip_hours_per_failure", "chip_hours_per_failure"),
                      ("low", "chip_hours_low"), ("high", "chip_hours_high")):  # fmt: skip
        assert run[its] == pytest.approx(found["all"][mine])
    assert run["rate"].endswith(f"({len(causes)} failures of its own)")
    text = planner("calibrate", "--failures", LOG, "-o", site).out
    assert f"--failure-site {site}" in " ".join(text.split())


def test_a_plan_file_keeps_where_the_site_lies(tmp_path: Path) -> None:
    site, plan = tmp_path / "site.yaml", tmp_path / "plan.yaml"
    assert planner("calibrate", "--failures", LOG, "-o", site).code == 0
    assert planner(*JOB, "--failure-site", site, "-o", plan, "--quiet").code == 0
    assert "failure_site: site.yaml" in plan.read_text(encoding="utf-8")
    run = planner("evaluate", plan, "--json").document["training_run"]["goodput"]
    assert run["chip_hours_per_failure"] == pytest.approx(51_521, abs=1)


def test_the_interval_of_a_published_site_is_that_of_its_posterior() -> None:
    rate = rate_of_site("opt-175b")
    found = posterior_s(105, rate.theta_s * 105)
    assert found == pytest.approx((rate.theta_s, rate.low_s, rate.high_s), rel=2e-3)


def test_hours_and_dates_count_alike(tmp_path: Path) -> None:
    exposures = []
    for rows in ("0,10.5,8,gpu\n11,13,8,\n",
                 "2026-03-01,2026-03-01T10:30,8,GPU\n"
                 "2026-03-01T11:00Z,2026-03-01T13:00Z,8,planned\n"):  # fmt: skip
        log = tmp_path / "log.csv"
        log.write_text(HEAD + rows, encoding="utf-8")
        found = planner("calibrate", "--failures", log, "-o", tmp_path / "s.yaml", "--json")
        exposures.append((found.document["chip_hours"], found.document["all"]["failures"]))
    assert exposures == [(100.0, 1), (100.0, 1)]


@each(("row", "line"), [
    ("0,10,8", "line 2: has 3 cells; the header has 4"),
    ("0,ten,8,gpu", "line 2: end: 'ten' is neither a date with a time (2026-03-01T08:00) nor "),
    ("0,2026-03-01,8,gpu", "line 2: end: is hours where start is a date, or the other way"),
    ("2026-03-01T00:00Z,2026-03-02,8,gpu", "line 2: end: one of start and end has a time zone"),
    ("10,10,8,gpu", "line 2: end: '10' is not after '10'"),
    ("0,nan,8,gpu", "line 2: end: 'nan' is not a number of hours"),
    ("0,10,0,gpu", "line 2: chips: '0' is not a whole number from 1 up"),
    ("0,10,8.5,gpu", "line 2: chips: '8.5' is not a whole number from 1 up"),
])  # fmt: skip
def test_bad_rows(row: str, line: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"{HEAD}{row}\n0,1,8,gpu\n", encoding="utf-8")
    (said,) = refused("calibrate", "--failures", log, "-o", tmp_path / "site.yaml")
    assert said.removeprefix(f"{log} ").startswith(line)
    assert not (tmp_path / "site.yaml").exists()


@each(("text", "line"), [
    (HEAD, "has no rows; a row is a stretch of a job"),
    (f"{HEAD}0,1,8,\n", "failures: no row has a cause"),
    ("a,b\n1,2\n", "is no CSV file of failures: the columns start, end, chips, cause are missing"),
    ("start,end,chips\n0,1,8\n", "line 1: column 'cause' is missing"),
])  # fmt: skip
def test_bad_files(text: str, line: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(text, encoding="utf-8")
    (said,) = refused("calibrate", "--failures", log, "-o", tmp_path / "site.yaml")
    assert line in said


@each(("flags", "line"), [
    (("--runs", "x.csv"), "failures: is a question by itself; leave out the other options"),
    (("-o", "site.txt"), "output: site.txt: must end in .yaml or .yml"),
])  # fmt: skip
def test_what_is_refused(flags: tuple[str, ...], line: str) -> None:
    assert refused("calibrate", "--failures", LOG, *flags) == [line]


@each(("text", "line"), [
    ("failures: 0\nexposure_chip_hours: 10.0\n", "failures: 0: must be at least 1"),
    ("failures: 3\nexposure_chip_hours: -1.0\n", "exposure_chip_hours: -1"),
    ("failures: 3\nexposure_chip_hours: 1e5\nextra: 1\n", "extra: unknown field"),
    ("name: x\n", "has no failures with their exposure_chip_hours"),
])  # fmt: skip
def test_bad_sites(text: str, line: str, tmp_path: Path) -> None:
    site = tmp_path / "bad.yaml"
    site.write_text(text, encoding="utf-8")
    (said,) = refused(*JOB, "--failure-site", site)
    assert line in said


def test_lines_of_a_log_are_no_causes(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    rows = "".join(f"{at},{at}.5,64,line {at}\n" for at in range(1001))
    path.write_text(f"start,end,chips,cause\n{rows}", encoding="utf-8")
    with pytest.raises(InputError, match=r"^failures: 1,001 different causes; at most 1,000: "):
        failure_rate([path], tmp_path / "site.yaml")
