"""`planner validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.base.errors import InputError
from planner.cli.field_flags import field_option
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import drawing_bar, print_json, progress_bar
from planner.cli.writing import before_printing
from planner.report.printing import print_document

_QUESTION = "Question"
FEW = {
    "data": "CSV file of your runs (default: the published runs that come with planner).",
    "template": "",
    "source": "",
    "what": "runs, collectives, microbench, failures, energy, memory, left-out, transfer, "
    "families, goodput or all; also of --data.",
    "calibration": "",
    "plot": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def validate(
    *,
    data: Annotated[
        Path | None,
        option(
            "CSV file of runs, .gz or not (default: the published runs that come with planner), or "
            "of another kind with --what; --template writes an empty one. Of runs, needed columns: "
            "hardware, n_chips, seq_len, global_batch_seqs, step_time_s, and either model_name (of "
            "planner models list) or n_layers, d_model, n_heads, d_ff, vocab. The others, such as "
            "tp, pp, sharding or recompute, are filled by rules.",
            _QUESTION,
            metavar="RUNS.csv",
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        option("Only these sources (repeatable; a pattern such as nemo* too).", _QUESTION),
    ] = None,
    what: Annotated[
        str,
        option(
            "runs, collectives, microbench, failures, energy, memory, left-out (every source "
            "predicted without itself), transfer (larger runs from the smallest of their "
            "installation), families (newer chips from older ones), goodput (whole runs with "
            "failures, beside simulated and published ones) or all; with --data, which kind of "
            "file it is.",
            _QUESTION,
        ),
    ] = "runs",
    template: Annotated[
        str | None,
        option(
            "Print an empty file for --data: columns, units and three example rows of a word of "
            "--what.",
            OUTPUT,
            metavar="KIND",
        ),
    ] = None,
    assume_network: Annotated[
        bool,
        option(
            "Take the cluster's own network where the text of a row is not understood.",
            _QUESTION,
            "--assume-network",
        ),
    ] = False,
    site_factors: Annotated[
        bool,
        typer.Option(
            "--site-factors",
            help="Predicted times of single runs include the factor of their installation: in the "
            "Runs table, pictures and --json. Tables of errors name which have it.",
            rich_help_panel=_QUESTION,
        ),
    ] = False,
    rules: Annotated[
        bool,
        option(
            "Print the software of every run: what its row says, and what which rule assumed.",
            OUTPUT,
            "--rules",
        ),
    ] = False,
    calibration: Annotated[str | None, field_option("calibration")] = None,
    plot: Annotated[
        Path | None,
        option(
            "Write predicted against measured, and the error per source: .svg, .png or .html.",
            OUTPUT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How far predictions are from thousands of published runs, or from your own.

    Examples:
      planner validate --source vtrain-multi

      planner validate --source mpt --source 'nemo*' --json

      planner validate --data runs.csv --calibration local.yaml

      planner validate --source kempner --rules

      planner validate --what energy

      planner validate --what left-out

      planner validate --what transfer --source trn1

      planner validate --what goodput

      planner validate --template collectives > empty.csv

      planner validate --what collectives --data calls.csv
    """
    if template is not None:
        from planner.evidence.own_columns import template as text  # noqa: PLC0415  (not for --help)

        others = (data, source, plot, as_json, calibration, assume_network, site_factors, rules)
        if any(others) or what != "runs":
            raise InputError("template: writes an empty file; leave out the other options")
        print_document(text(template))
        return
    from planner.evidence.validation.answer import validate as ask  # noqa: PLC0415  (not for --help)
    from planner.report.charts.validation import (  # noqa: PLC0415
        check_runs_plot,
        validation_picture,
    )
    from planner.report.pages.picture_file import write_picture  # noqa: PLC0415  (numpy; not for --help)

    check_runs_plot(plot, what)
    for name, given in (("site-factors", site_factors), ("rules", rules)):
        if given and what not in ("runs", "all"):
            raise InputError(f"{name}: is of training runs, not of {what}; leave it out")
    with progress_bar(wanted=not as_json, verb="predicting") as on_progress:
        answer = ask(
            data=data,
            sources=tuple(source or ()),
            what=what,
            assume_network=assume_network,
            site_factors=site_factors,
            local=calibration,
            on_progress=on_progress,
        )
    if plot is not None and answer.runs is not None:
        with before_printing(), drawing_bar(plot, wanted=not as_json):
            write_picture(validation_picture(answer.runs), plot)
    if as_json:
        print_json(answer.to_dict())
        return
    from planner.report.tables.tables import print_view  # noqa: PLC0415
    from planner.report.tables.validation import validation_view  # noqa: PLC0415

    print_view(validation_view(answer, rules=rules), whole_lines=True)
