"""The files that `planner solve` writes: checked before the search, all of them or none after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InputError
from planner.files import check_writable, path_as_text, same_path, write_all

if TYPE_CHECKING:
    from planner.request import Request
    from planner.results import PlanResult, SolveResult


@dataclass(frozen=True, slots=True)
class Files:
    """Where answers go: the best plan, the front, and the pictures."""

    output: Path | None
    pareto: tuple[Path, ...]
    plot: Path | None

    def named(self) -> list[tuple[str, Path]]:
        """(flag, file) of all that are wanted."""
        wanted = [("output", self.output), *(("pareto", path) for path in self.pareto)]
        return [(flag, path) for flag, path in (*wanted, ("plot", self.plot)) if path is not None]


def inputs_of(job_file: Path | None, request: Request) -> dict[str, Path]:
    """The user's own files that a question is read from, by what they are."""
    from planner.records import FIELDS, names_a_file  # noqa: PLC0415

    files = {} if job_file is None else {"job": job_file}
    named = {name: getattr(request, name) for name in FIELDS}
    return files | {name: Path(value) for name, value in named.items() if names_a_file(value)}


def check_outputs(files: Files, inputs: dict[str, Path]) -> None:
    """Finds out before the search whether its answer can be written, each file once, no input."""
    from planner.records import YAML_SUFFIXES, names_a_file  # noqa: PLC0415
    from planner.report.front_file import writer_for  # noqa: PLC0415
    from planner.report.picture_file import check_picture  # noqa: PLC0415

    for path in files.pareto:
        writer_for(path)
    check_picture(files.plot)
    wanted = files.named()
    check_writable(*(path for _, path in wanted))
    for index, (flag, path) in enumerate(wanted):
        for other, earlier in wanted[:index]:
            if path.resolve() == earlier.resolve():
                raise InputError(f"{flag}: {path} is the file of --{other} too; name another")
        for what, given in inputs.items():
            if same_path(path, given):
                raise InputError(f"{flag}: {path} is the {what} file that is read; name another")
    if files.output is not None and not names_a_file(str(files.output)):
        raise InputError(
            f"output: {files.output}: a plan is written as {' or '.join(YAML_SUFFIXES)}"
        )


def write_outputs(request: Request, result: SolveResult, files: Files) -> None:
    """Writes the files that were asked for: all of them or none."""
    from planner.report.front_file import writer_for  # noqa: PLC0415

    texts: dict[Path, str | bytes] = {}
    if result.best is not None and files.output is not None:
        texts[files.output] = _plan_text(request, result, result.best, files.output)
    if result.front:
        texts |= {path: writer_for(path)(result) for path in files.pareto}
    if result.best is not None and files.plot is not None:
        texts[files.plot] = _drawn(request, result, result.best, files.plot)
    write_all(texts)


def _drawn(request: Request, result: SolveResult, best: PlanResult, path: Path) -> str | bytes:
    """The pictures of an answer, or as a page its whole report."""
    from planner.joint_machines import on_machine  # noqa: PLC0415
    from planner.report.picture_file import picture_bytes  # noqa: PLC0415
    from planner.report.plan_picture import solve_picture  # noqa: PLC0415
    from planner.report.report_detail import detail_of  # noqa: PLC0415
    from planner.report.report_page import report_page  # noqa: PLC0415
    from planner.resolved import resolve  # noqa: PLC0415

    if path.suffix.lower() != ".html":
        return picture_bytes(solve_picture(result), path)
    resolved = resolve(on_machine(request, best.machine))
    return report_page(result, detail_of(result, best, resolved))


def _plan_text(request: Request, result: SolveResult, best: PlanResult, output: Path) -> str:
    from planner.joint_machines import on_machine  # noqa: PLC0415
    from planner.planfile import plan_text  # noqa: PLC0415
    from planner.report.words import best_words  # noqa: PLC0415
    from planner.resolved import resolve  # noqa: PLC0415

    again = f"evaluate again with: planner evaluate {path_as_text(output.name)}"
    job = on_machine(request, best.machine)
    return plan_text(resolve(job), best.plan, [*best_words(result, best), again], output.parent)
