"""The tables of `planner validate`: title, header and cells, for a terminal and for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.base.units import show_bytes, show_seconds
from planner.evidence.validation.answer import Validation
from planner.evidence.validation.baselines import Peer
from planner.evidence.validation.collectives import CollectiveScore
from planner.evidence.validation.measured_runs import Runs
from planner.evidence.validation.scores import Choice, Errors, Score
from planner.evidence.validation.targets import Reached

Table = tuple[str, tuple[str, ...], list[list[str]]]
"""Title, header and cells; the first column is text, the others are numbers unless named."""
NONE = "-"
LISTED = 40
# Columns of text; all others hold numbers and are flush right.
TEXT = ("source", "predictor", "target", "figure", "where from", "system", "collective", "chip",
         "test", "shape", "id", "model", "site factors", "met", "field", "taken", "test met",
         "rule", "era", "framework", "site", "gathered inputs", "predicted", "boundary",
         "busy share from", "figure is", "law", "constant", "kind of links",
         "said", "kind of run", "whole test")  # fmt: skip


def percent(share: float | None) -> str:
    """A share as a percentage with one decimal, without the sign."""
    return NONE if share is None else f"{100 * share:.1f}"


def summary_table(runs: Runs) -> Table:
    """Errors of step times over several sources at once."""
    header = ("source", "rows", "mean", "median", "in 10 %", "in 20 %", "site mean", "site median",
              "test mean", "test site mean")  # fmt: skip
    rows = []
    for row in runs.aggregates:
        parts = (row.time.mean, row.time.median, row.time.within_10, row.time.within_20,
                 row.site_time.mean, row.site_time.median,
                 row.time_test.mean if row.time_test else None,
                 row.site_time_test.mean if row.site_time_test else None)  # fmt: skip
        rows.append([row.name, f"{row.rows:,}", *map(percent, parts)])
    if (mean := runs.gold_sources) is not None:
        figures = (mean.mean, mean.median, None, None, mean.site_mean, mean.site_median, None, None)
        name = f"gold, each of {mean.sources} sources once"
        rows.append([name, NONE, *map(percent, figures)])
    return "Step time over several sources, error in %", header, rows


_ERROR_COLUMNS = ("mean", "median", "p90", "bias", "in 10 %", "in 20 %", "in interval")


def _error_cells(errors: Errors) -> list[str]:
    shares = (errors.mean, errors.median, errors.p90, errors.bias, errors.within_10,
              errors.within_20, errors.coverage)  # fmt: skip
    return [percent(share) for share in shares]


def time_table(scores: Sequence[Score], *, site: bool) -> Table:
    """Errors of step times by source, the test split beside all rows."""
    header: tuple[str, ...] = ("source", "rows", "gold", *_ERROR_COLUMNS)
    header += ("test rows", "test mean", "test median")
    rows = []
    for row in scores:
        if site and row.site_factors == (1.0, 1.0):
            continue
        errors, test = (row.site_time, row.site_time_test) if site else (row.time, row.time_test)
        cells = [row.name, f"{row.rows:,}", f"{row.gold:,}", *_error_cells(errors)]
        cells += [f"{row.test:,}", *(percent(value) for value in _middle(test))]
        rows.append([*cells, _factors(row)] if site else cells)
    title = "Step time with site factors" if site else "Step time without site factors"
    return f"{title}, error in %", (*header, "factor") if site else header, rows


def _middle(test: Errors | None) -> tuple[float | None, float | None]:
    return (test.mean, test.median) if test else (None, None)


def _factors(row: Score) -> str:
    low, high = row.site_factors
    return f"{low:.3g}" if low == high else f"{low:.3g}..{high:.3g}"


def choice_table(scores: Sequence[Score]) -> Table:
    """Rank correlation and regret by source; site factors change neither within an installation."""
    header = ("source", "jobs", "rows", "Spearman", "mean regret %", "median %", "largest %",
              "top 3 %")  # fmt: skip
    found = [(row.name, row.choice) for row in scores if row.choice is not None]
    title = "Choice of the plan, jobs measured with three plans or more"
    return title, header, [[name, *_choice_cells(choice)] for name, choice in found]


def _choice_cells(choice: Choice) -> list[str]:
    rank = NONE if choice.spearman is None else f"{choice.spearman:.2f}"
    shares = (choice.regret_1, choice.regret_1_median, choice.regret_1_most, choice.regret_3)
    return [f"{choice.groups:,}", f"{choice.rows:,}", rank, *map(percent, shares)]


def memory_table(scores: Sequence[Score]) -> Table:
    """Errors of the peak memory by source."""
    found = [(row.name, row.memory) for row in scores]
    return "Peak memory per chip, error in %", ("source", "rows", *_ERROR_COLUMNS), _part(found)


def power_table(scores: Sequence[Score]) -> Table:
    """Errors of the mean power by source."""
    found = [(row.name, row.power) for row in scores]
    return "Mean power per chip, error in %", ("source", "rows", *_ERROR_COLUMNS), _part(found)


def _part(found: Sequence[tuple[str, Errors | None]]) -> list[list[str]]:
    return [
        [name, f"{errors.rows:,}", *_error_cells(errors)]
        for name, errors in found
        if errors is not None
    ]


def target_table(targets: Sequence[Reached]) -> Table:
    """What was to be reached, and whether it is."""
    header = ("target", "figure", "site factors", "rows", "limit %", "reached %", "met",
              "test split %", "test met")  # fmt: skip
    rows = [
        [
            row.target,
            row.measure,
            "with" if row.site_factors else "without",
            f"{row.rows:,}",
            percent(row.limit)
            if row.least is None
            else f"{percent(row.least)}..{percent(row.limit)}",
            percent(row.reached),
            "yes" if row.met else "no",
            percent(row.test),
            NONE if row.test_met is None else "yes" if row.test_met else "no",
        ]
        for row in targets
    ]
    return "Targets (the test split may be a fifth worse)", header, rows


def peer_table(scores: Sequence[Score], peers: Sequence[Peer]) -> Table:
    """How others score on the same runs, below what is reached here."""
    header = ("source", "predictor", "mean %", "median %", "Spearman", "mean regret %",
              "where from")  # fmt: skip
    rows = []
    for score in scores:
        others = [peer for peer in peers if peer.source == score.name]
        choice = score.choice
        ours = (score.time.mean, score.time.median, choice.spearman if choice else None,
                choice.regret_1 if choice else None)  # fmt: skip
        if others:
            rows.append([score.name, "planner, no site factors", *_peer_cells(*ours), ""])
        for peer in others:
            figures = (peer.mean, peer.median, peer.spearman, peer.regret_1)
            rows.append(["", peer.predictor, *_peer_cells(*figures), peer.origin])
    return "Others on the same runs, error of the step time", header, rows


def _peer_cells(
    mean: float, median: float | None, rank: float | None, regret: float | None
) -> list[str]:
    middle = NONE if rank is None else f"{rank:.2f}"
    return [percent(mean), percent(median), middle, percent(regret)]


def row_table(runs: Runs) -> Table:
    """Every run, where there are few."""
    p = runs.predictions.with_site_factors() if runs.site_factors else runs.predictions
    rows = [
        [
            measured.run.key,
            show_seconds(p.measured_s[row]),
            show_seconds(p.step_time_s[row]),
            percent(p.step_time_s[row] / p.measured_s[row] - 1),
            f"{show_seconds(p.low_s[row])} to {show_seconds(p.high_s[row])}",
            show_bytes(p.memory_bytes[row]),
        ]
        for row, measured in enumerate(p.runs)
    ]
    header = ("id", "measured", "predicted", "error %", "80 % interval", "memory")
    words = ""
    if has_factors(runs):
        words = f", predicted {'with' if runs.site_factors else 'without'} site factors"
    return f"Runs{words}", header, rows


def has_factors(runs: Runs) -> bool:
    """Whether any run is of an installation with a factor of its own."""
    return any(row.site_factors != (1.0, 1.0) for row in (*runs.sources, *runs.aggregates))


def site_words(runs: Runs) -> str:
    """What `--site-factors` changes in the tables, in a sentence or two."""
    if not has_factors(runs):
        return (
            "Site factors: no installation of these runs has one, so that figures with and "
            "without them are the same."
        )
    listed = "predicted times and intervals of the Runs table, " * (len(runs.predictions) <= LISTED)
    return (
        f'With site factors: {listed}the table "Step time with site factors", all columns named '
        "so, pictures, and the rows of --json. Without: all other errors of step times. Memory and "
        "power have none; choices among plans of one job do not depend on them."
    )


def interval_table(scores: Sequence[Score]) -> Table:
    """How often measurements lie in the 80 % interval of their prediction."""
    header = ("source", "rows", "time %", "time, with site factors %", "test rows", "time, test %",
              "time, test, with site factors %", "memory %", "power %")  # fmt: skip
    rows = [
        [
            row.name,
            f"{row.rows:,}",
            _coverage(row.time),
            _coverage(row.site_time),
            f"{row.test:,}",
            _coverage(row.time_test),
            _coverage(row.site_time_test),
            _coverage(row.memory),
            _coverage(row.power),
        ]
        for row in scores
    ]
    return "Measurements inside the 80 % interval of their prediction", header, rows


def _coverage(errors: Errors | None) -> str:
    return percent(errors.coverage if errors else None)


def rule_table(runs: Runs) -> Table:
    """Which software was taken for which runs, and why."""
    found = Counter(
        (profile.rule, profile.era, profile.framework, profile.site or NONE)
        for profile in (measured.run.profile for measured in runs.predictions.runs)
    )
    header = ("rule", "era", "framework", "site", "rows")
    rows = [[*key, f"{count:,}"] for key, count in found.most_common()]
    return "Software, by the first rule that fits a row", header, rows


def software_table(runs: Runs) -> Table:
    """Row by row what is said of the software, and what was assumed by which rule."""
    rows = []
    for measured in runs.predictions.runs:
        run, said = measured.run, measured.run.printed
        assumed = [f"{name} {run.filled[name]}" for name in ("job", "optimizer")
                   if name in run.filled]  # fmt: skip
        rows.append([
            run.key,
            ", ".join(said.values()) or NONE,
            "; ".join([f"{run.profile.framework}, {run.profile.era}", *assumed]),
            run.profile.rule,
        ])  # fmt: skip
    return "Software row by row", ("id", "said", "taken", "rule"), rows


def filled_table(runs: Runs) -> Table:
    """What was taken for what rows leave out."""
    taken = Counter(
        (name, value)
        for measured in runs.predictions.runs
        for name, value in measured.run.filled.items()
    )
    rows = [[name, value, f"{count:,}"] for (name, value), count in sorted(taken.items())]
    return "Taken for what rows leave out (per row in --json)", ("field", "taken", "rows"), rows


def collective_table(answer: Validation) -> Table:
    """Errors of collectives by system, with the constants of the training step."""
    scores = [(row, row.time, row.large) for row in answer.collectives or ()]
    return "Collectives, constants of the training step (plans use them)", *_collective_rows(scores)


def nccl_table(answer: Validation) -> Table:
    """The same with the constants of NCCL."""
    scores = [(row, row.nccl, row.nccl_large) for row in answer.collectives or ()]
    return "Collectives, constants of NCCL (for calls alone)", *_collective_rows(scores)


def _collective_rows(
    scores: Sequence[tuple[CollectiveScore, Errors, Errors | None]],
) -> tuple[tuple[str, ...], list[list[str]]]:
    header = ("system", "collective", "chips", "rows", "mean %", "median %", "bias %",
              "large rows", "large median %", "large bias %")  # fmt: skip
    rows = []
    for row, time, large in scores:
        cells = [row.system, row.collective, f"{row.chips:,}", f"{time.rows:,}"]
        cells += [percent(time.mean), percent(time.median), percent(time.bias)]
        cells += (
            [f"{large.rows:,}", percent(large.median), percent(large.bias)]
            if large
            else (["0", NONE, NONE])
        )
        rows.append(cells)
    return header, rows


def microbench_table(answer: Validation) -> Table:
    """Rates of multiplications and memory streams."""
    header = ("chip", "test", "shape", "measured", "predicted", "error %")
    rows = [
        [
            row.chip,
            row.test,
            " x ".join(f"{size:,}" for size in row.shape) or NONE,
            f"{row.measured / 1e12:.4g} T{row.unit}",
            f"{row.predicted / 1e12:.4g} T{row.unit}",
            percent(row.error),
        ]
        for row in answer.microbench or ()
    ]
    return "Matrix multiplications (m x n x k) and memory streams", header, rows
