"""`planner export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.files import write_folder
from planner.base.vocabulary import LAUNCHERS
from planner.cli.chakra import MaxNodes, Ranks, TraceFolder, chakra_texts, check_alone
from planner.cli.completing import among, one_of, versions
from planner.cli.field_flags import with_fields
from planner.cli.options import option
from planner.cli.output import print_json
from planner.cli.plan_options import PlanFile, Row, file_and_row_of
from planner.frameworks.targets import TARGETS
from planner.question.asked import EXPORTED
from planner.report.printing import print_document, print_lines

if TYPE_CHECKING:
    from planner.results.export import ExportResult


FEW = {
    "plan_file": "Plan file (YAML), or a front of plans.",
    "to": "",
    "target_version": "",
    "launcher": "",
    "allow_lossy": "Write also what runs another plan than this one.",
    "output": "Folder for all files; default: print the main one.",
    "chakra": "Write execution traces here, in Chakra's format.",
    "row": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*EXPORTED, replacing=True)
def export(
    plan_file: PlanFile,
    *,
    to: Annotated[
        str | None,
        option("What runs it: {targets}.", None, metavar="TARGET", complete=one_of("runnable_in")),
    ] = None,
    target_version: Annotated[
        str | None,
        option(
            "Version of the target (planner targets).", None, metavar="VERSION", complete=versions
        ),
    ] = None,
    launcher: Annotated[
        str | None,
        option(
            f"Starts it: {', '.join(LAUNCHERS)}.",
            None,
            metavar="LAUNCHER",
            complete=among(LAUNCHERS),
        ),
    ] = None,
    allow_lossy: Annotated[
        bool,
        typer.Option(
            "--allow-lossy",
            help="Write also what runs another plan than this one, and say in what it differs.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder to write all files to; default: the main one to standard output.",
            metavar="FOLDER",
        ),
    ] = None,
    chakra: TraceFolder = None,
    ranks: Ranks = None,
    max_nodes: MaxNodes = None,
    asked: dict[str, Any],
    row: Row = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """A plan as the files and the command line of a framework that runs it.

    A plan that the framework cannot run, or has no settings for, is refused: the fields are named.

    Examples:
      planner export runnable.yaml --to {target} --launcher slurm -o launch

      planner export runnable.yaml --chakra trace/ --ranks all

      {examples}

      planner solve --model llama3-8b --hardware h100-sxm5-80 --chips 64
        --runnable-in {target} -o runnable.yaml
    """
    plan_file, at = file_and_row_of(plan_file, row)
    if chakra is not None:
        check_alone(
            {"to": to, "target-version": target_version, "launcher": launcher,
             "allow-lossy": allow_lossy or None, "output": output}
        )  # fmt: skip
        files = chakra_texts(plan_file, chakra, ranks, max_nodes, at, asked, as_json=as_json)
        _write(files.texts, chakra, plan_file, "chakra")
        files.show()
        return
    _check_no_traces({"ranks": ranks, "max-nodes": max_nodes})
    from planner.answers.exported import export_file  # noqa: PLC0415  (numpy; not for --help)

    _check_words({"to": to, "target-version": target_version, "launcher": launcher})
    result = export_file(
        plan_file,
        _target(to),
        target_version or "",
        launcher=launcher or "",
        allow_lossy=allow_lossy,
        row=at,
        **asked,
    )
    if output is not None:
        _write({output / file.name: file.text for file in result.export.files}, output, plan_file)
    _show(result, output, as_json=as_json)


def _check_no_traces(given: dict[str, object]) -> None:
    """Refuses what is about traces where the files of a framework are asked for."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}: is about traces; give --chakra FOLDER beside it")


def _target(to: str | None) -> str:
    """What runs the plan, which has to be said."""
    if to is None:
        known = [*TARGETS]
        raise InputError(
            f"to: is missing; say what runs the plan, e.g. --to {known[0]}, of {', '.join(known)}"
        )
    return to


def _show(result: ExportResult, output: Path | None, *, as_json: bool) -> None:
    """The export as JSON, its main file, or what was written where."""
    if as_json:
        print_json(result.to_dict())
    elif output is None:
        _print_main(result)
    else:
        from planner.report.tables.export import export_view  # noqa: PLC0415  (tables; not for --json)
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(export_view(result, output))


def _check_words(given: dict[str, str | None]) -> None:
    """Refuses a flag whose word is empty: nobody means the default by that.

    Raises:
        InputError: A line for each.
    """
    empty = [name for name, word in given.items() if word is not None and not word.strip()]
    if empty:
        known = {"to": ", ".join(TARGETS), "launcher": ", ".join(LAUNCHERS)}
        lines = (f"{name}: is empty; {_allowed(known.get(name))}" for name in empty)
        raise InputError("\n".join(lines))


def _allowed(known: str | None) -> str:
    return f"allowed: {known}" if known else "planner targets lists what is allowed"


def _write(
    texts: dict[Path, str | bytes], folder: Path, plan_file: Path, name: str = "output"
) -> None:
    """All files of an export, none of them where one cannot be written.

    Raises:
        InputError: The folder is a file, or cannot be made or written to; or a file of it is the
            plan that was read.
    """
    for path in texts:
        check_apart([(name, path)], {"plan": plan_file})
    write_folder(folder, texts, name)


def _print_main(result: ExportResult) -> None:
    """The main text to standard output, how it is launched and what it lacks to standard error."""
    export = result.export
    main, *others = export.files
    print_document(main.text)
    names = ", ".join(file.name for file in others)
    lines = [f"unsupported: {lost.field}: {lost.reason}" for lost in export.unsupported]
    lines += [f"lossy: {lost.field}: {lost.reason}" for lost in export.lossy]
    lines += [f"warning: {line}" for line in result.warnings]
    lines += [f"note: hosts: {' '.join(export.hosts)}"] if export.hosts else []
    lines += [f"note: environment: {name}={value}" for name, value in export.environment]
    launches = export.command.split("\n") if export.command else []
    lines += [f"note: launch of {main.name}: {line}" for line in launches]
    lines += [f"note: -o FOLDER writes {names} as well"] if names else []
    print_lines(*lines, to=sys.stderr)
