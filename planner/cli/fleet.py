"""`planner fleet`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.errors import ExitCode
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import drawing_bar, print_json, progress_bar
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.studies.fleet.answer import FleetResult

_QUESTION = "Question"
_SEARCH = "Search"
_TIME_LIMIT_S = 60.0


def fleet(
    file: Annotated[
        Path, typer.Argument(help="Fleet file: clusters, jobs, days (planner schema fleet).")
    ],
    *,
    objective: Annotated[
        str | None,
        option("cost, energy, lateness or weighted, in place of the file's.", _QUESTION),
    ] = None,
    time_limit: Annotated[
        str | None,
        option("Wall time of one search for a schedule (default: 60s).", _SEARCH),
    ] = None,
    gap: Annotated[
        str | None, option("Relative gap that is enough, e.g. 1% (default: 0).", _SEARCH)
    ] = None,
    store: Annotated[
        Path | None,
        option("Keep the plans of each job there; what it has is not solved again.", OUTPUT),
    ] = None,
    plot: Annotated[
        Path | None, option("Draw who runs where and when: .svg, .png or .html.", OUTPUT)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which plan each of some jobs takes, on how many chips of which cluster, and when.

    The schedule is proved to have the least cost, energy or lateness, or has a gap.

    Examples:
      planner fleet fleet.yaml

      planner fleet fleet.yaml --objective lateness --plot fleet.svg

      planner fleet fleet.yaml --store fleet.db --gap 1% --time-limit 5min
    """
    from planner.answers.fleet import fleet_of  # noqa: PLC0415  (numpy; not for --help)
    from planner.base.messages import Origin  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture, write_picture  # noqa: PLC0415
    from planner.studies.fleet.question import read_fleet  # noqa: PLC0415

    check_picture(plot)
    changed: dict[str, Any] = {} if objective is None else {"objective": objective}
    question = read_fleet(file, changed)
    with progress_bar(wanted=not as_json, elapsed=True) as on_progress:
        effort = _effort(time_limit, gap)
        result = fleet_of(
            question, **effort, store=store, on_progress=on_progress, origin=Origin(dashes=True)
        )
    if plot is not None and result.jobs:
        from planner.report.charts.fleet import fleet_picture  # noqa: PLC0415

        with before_printing(), drawing_bar(plot, wanted=not as_json):
            write_picture(fleet_picture(result), plot)
    _print(result, as_json=as_json)
    if result.impossible:
        raise typer.Exit(ExitCode.INFEASIBLE)
    if not result.jobs:
        raise typer.Exit(ExitCode.TIME_LIMIT)


def _effort(time_limit: str | None, gap: str | None) -> dict[str, float]:
    """How long to search, from text with units."""
    from planner.base.units import parse_seconds, parse_share  # noqa: PLC0415  (not for --help)

    return {
        "time_limit": _TIME_LIMIT_S
        if time_limit is None
        else parse_seconds(time_limit, "time-limit"),
        "gap": 0.0 if gap is None else parse_share(gap, "gap"),
    }


def _print(result: FleetResult, *, as_json: bool) -> None:
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.fleet import fleet_view  # noqa: PLC0415  (rich; not for --help)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(fleet_view(result))
