"""`planner measure`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.errors import ExitCode, InputError
from planner.cli.field_flags import with_fields
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.evidence.calibration.launches.folder import MeasureResult
    from planner.plan import Plan
    from planner.question.resolved import Resolved

_QUESTION = "Question"
_ASKED = (
    "model", "hardware", "chips", "seq_len", "batch_tokens", "precision", "era", "fix",
)  # fmt: skip
_DEFAULT = Path("measurements")
FEW = {
    "plan_file": "Plan (planner solve -o); else the fastest of --model.",
    "framework": "",
    "model": "Model (planner models list) or YAML file.",
    "hardware": "Cluster or chip (planner hardware list), or file.",
    "chips": "Chips to plan for.",
    "output": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*_ASKED)
def measure(
    plan_file: Annotated[
        Path | None,
        typer.Argument(
            help="Plan whose step is to be predicted, as planner solve -o writes it; without one "
            "the fastest plan of --model on --chips.",
            show_default=False,
            metavar="PLAN",
        ),
    ] = None,
    *,
    framework: Annotated[
        str | None, option("What runs the launches: a framework whose logs are read.", _QUESTION)
    ] = None,
    asked: dict[str, Any],
    output: Annotated[
        Path | None,
        option(f"Folder to write (default: {_DEFAULT}).", OUTPUT, "-o", "--output"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Short launches of a plan on one or two nodes, to be run and read by planner calibrate.

    Each has a few layers, the shapes of the plan and 20 steps, and is profiled.

    Examples:
      planner measure --framework megatron --model llama3-8b --hardware h100-sxm5-80
        --chips 64 -o llama/

      planner solve --model llama3-8b --hardware h100-sxm5-80 --chips 64
        --runnable-in torchtitan -o titan.yaml

      planner measure titan.yaml --framework torchtitan -o titan/

      planner measure titan.yaml --framework torchtitan -o titan/ --json
    """
    from planner.evidence.calibration.launches.folder import measurements  # noqa: PLC0415  (numpy; not for --help)
    from planner.evidence.calibration.launches.measured import READERS  # noqa: PLC0415  (numpy; not for --help)

    if framework is None:
        known = ", ".join(READERS)
        raise InputError(f"framework: is missing; say what runs the launches, one of {known}")
    folder = output or _DEFAULT
    if not str(folder).strip():
        raise InputError("output: the name of the folder is empty")
    resolved, plan = _plan(plan_file, framework, asked, as_json=as_json)
    result = measurements(resolved, plan, framework, folder)
    _write(result, folder)
    if as_json:
        print_json(result.to_dict(str(folder)))
        return
    from planner.report.tables.measure import measure_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(measure_view(result, folder))


def _plan(
    path: Path | None, framework: str, asked: dict[str, Any], *, as_json: bool
) -> tuple[Resolved, Plan]:
    """The job and the plan of a file, or the fastest plan of a question.

    Raises:
        InputError: The file is wrong, or both are given.
        typer.Exit: No plan fits (code 3), or none was found in time (4).
    """
    from planner.question.files.plan_file import read_plan_file  # noqa: PLC0415  (numpy; not for --help)
    from planner.question.resolved import resolve  # noqa: PLC0415

    if path is not None:
        if asked:
            name = next(iter(asked)).replace("_", "-")
            raise InputError(f"{name}: is in the plan file; leave one of the two out")
        request, plan, origin, _ = read_plan_file(path, {}, flags=True)
        return resolve(request, origin, plan.chips), plan
    from planner.answers.api import solve_request  # noqa: PLC0415
    from planner.base.messages import Origin  # noqa: PLC0415
    from planner.evidence.calibration.launches.folder import check_measured  # noqa: PLC0415
    from planner.question.request import request_from  # noqa: PLC0415

    check_measured(framework)
    origin = Origin(arguments=frozenset(asked), dashes=True)
    fields = {**asked, "framework": framework, "runnable_in": [framework]}
    request = request_from(fields, origin, needed=("chips",))
    with progress_bar(wanted=not as_json) as on_progress:
        found = solve_request(request, on_progress, origin)
    if found.best is None:
        from planner.report.tables.screen import solve_line  # noqa: PLC0415  (not for --help)

        print_lines(solve_line(found), to=sys.stderr)
        raise typer.Exit(ExitCode.without_plan(found.status))
    return resolve(request, origin, found.best.plan.chips), found.best.plan


def _write(result: MeasureResult, folder: Path) -> None:
    """All files, none of them where one cannot be written.

    Raises:
        InputError: The folder is a file, or cannot be made or written to.
    """
    from planner.base.files import write_folder  # noqa: PLC0415  (not for --help)

    _check_not_run(folder, result)
    write_folder(folder, {folder / name: text for name, text in result.texts.items()})


def _check_not_run(folder: Path, result: MeasureResult) -> None:
    """Refuses a folder with logs of other launches, which would be read as those of the new ones.

    Raises:
        InputError: It has them.
    """
    from planner.base.files import is_file, read_bytes  # noqa: PLC0415  (not for --help)
    from planner.evidence.calibration.launches.manifest import LOGS, NAME, PLAN  # noqa: PLC0415
    from strict_yaml.inputs import replacing  # noqa: PLC0415

    old = [path for name in (NAME, PLAN) if is_file(path := folder / name)]
    with replacing():
        same = all(read_bytes(path) == result.texts[path.name].encode() for path in old)
    if not same and (log := next(folder.glob(f"*/{LOGS}"), None)):
        raise InputError(f"output: {log} is the log of another launch; name another folder")
