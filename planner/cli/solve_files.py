"""The files that `planner solve` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.apart import check_apart
from planner.base.commands import path_written
from planner.base.errors import InputError
from planner.base.files import (
    YAML_SUFFIXES,
    check_writable,
    names_a_file,
    write_all,
)
from planner.base.messages import one_line
from planner.cli.tracing import check_trace_ending, trace_content
from planner.report.about import page_about

if TYPE_CHECKING:
    from planner.question.request import Request
    from planner.question.resolved import Resolved
    from planner.results.plan import PlanResult
    from planner.results.result import SolveResult
    from planner.search.space import Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What is to be written where.

    Attributes:
        plan: The best plan.
        pareto: The front.
        plot: Pictures of the front and of the best plan; as .html the whole report.
        trace: The simulated pipeline of the best plan.
        certificate: The proof.
    """

    plan: Path | None
    pareto: tuple[Path, ...]
    plot: Path | None
    trace: Path | None
    certificate: Path | None = None

    @property
    def none(self) -> Outputs:
        """No file."""
        return Outputs(plan=None, pareto=(), plot=None, trace=None)

    def trail(self) -> Trail | None:
        """Where the search keeps what a certificate needs; None: none is asked for."""
        if self.certificate is None:
            return None
        from planner.search.space import Trail  # noqa: PLC0415  (few ask)

        return Trail()

    def check(self, job_file: Path | None, request: Request) -> None:
        """Finds out before the search whether its answer can be written, each file once, no input.

        Raises:
            InputError: It cannot, with the flag.
        """
        from planner.question.kinds.pools import check_no_pictures  # noqa: PLC0415  (not for --help)
        from planner.report.pages.front_file import writer_for  # noqa: PLC0415
        from planner.report.pages.picture_file import check_picture  # noqa: PLC0415

        if request.pools is not None:
            check_no_pictures({"plot": self.plot, "trace": self.trace})
        for path in self.pareto:
            writer_for(path)
        check_picture(self.plot)
        if self.trace is not None:
            check_trace_ending(self.trace)
        wanted = self._wanted()
        check_apart(wanted, {"job": job_file})
        check_writable(*(path for _, path in wanted))
        if self.plan is not None and not names_a_file(str(self.plan)):
            endings = " or ".join(YAML_SUFFIXES)
            raise InputError(f"output: {self.plan}: a plan is written as {endings}")

    def check_certificate(self, request: Request) -> None:
        """Refuses to certify what no certificate covers.

        Raises:
            InputError: The question is such, with the reason.
        """
        if self.certificate is not None:
            from planner.answers.files.certificate import check_covered  # noqa: PLC0415  (few ask)

            check_covered(request, self.certificate)

    def _wanted(self) -> list[tuple[str, Path]]:
        """Flags and files."""
        wanted = [("output", self.plan), *(("pareto", path) for path in self.pareto)]
        wanted += [("plot", self.plot), ("trace", self.trace), ("certificate", self.certificate)]
        return [(flag, path) for flag, path in wanted if path is not None]

    def missing(self, result: SolveResult, trail: Trail | None) -> list[str]:
        """The files that are not written for want of a plan, or of time, one line for each."""
        why = {"plot": "nothing to draw", "pareto": "the front is empty"}
        gone = {
            flag: f"{why.get(flag, 'nothing to write')}, there is no plan"
            for flag, _ in self._wanted()
            if result.best is None and not (flag == "pareto" and result.front)
        }
        gone["certificate"] = self._unproved(result, trail)
        return [
            f"{flag}: {one_line(str(path))} is not written: {gone[flag]}"
            for flag, path in self._wanted()
            if gone.get(flag)
        ]

    def _unproved(self, result: SolveResult, trail: Trail | None) -> str:
        """Why no proof is written where one is asked for."""
        if self.certificate is None or trail is None:
            return ""
        from planner.answers.files.proof import unproved  # noqa: PLC0415  (few ask)

        return unproved(self.certificate, trail, result)

    def numbered(self, number: int) -> Outputs:
        """The same files with a number before their endings: `plan-2.yaml`."""

        def of(path: Path) -> Path:
            return path.with_name(f"{path.stem}-{number}{path.suffix}") if path.name else path

        plan, plot, trace, certificate = (
            None if p is None else of(p)
            for p in (self.plan, self.plot, self.trace, self.certificate)
        )
        pareto = tuple(map(of, self.pareto))
        return Outputs(plan=plan, pareto=pareto, plot=plot, trace=trace, certificate=certificate)

    def write(self, request: Request, result: SolveResult, trail: Trail | None = None) -> None:
        """Writes the files that were asked for: all or none; without a plan the proof alone.

        Args:
            request: The question.
            result: Its answer.
            trail: Of its search, where the proof is asked for.

        Raises:
            InputError: A file cannot be written, or the plan cannot be simulated.
        """
        texts = self.texts(request, result)
        unproved = self._unproved(result, trail)
        if self.certificate is not None and trail is not None and not unproved:
            from planner.answers.files.proof import proof_of  # noqa: PLC0415  (few ask)

            texts[self.certificate] = proof_of(self.certificate, request, trail, result)
        write_all(texts)

    def texts(self, request: Request, result: SolveResult) -> dict[Path, str | bytes]:
        """What is written of an answer, by file.

        Raises:
            InputError: The plan cannot be simulated.
        """
        from planner.answers.spaces.operations import clocks_drawn  # noqa: PLC0415  (not for --help)
        from planner.report.pages.front_file import writer_for  # noqa: PLC0415

        texts: dict[Path, str | bytes] = {}
        if result.best is not None and self.plan is not None:
            texts[self.plan] = _plan_text(request, result, result.best, self.plan)
        if result.best is not None and self.trace is not None:
            job = _resolved(request, result.best)
            clocks = clocks_drawn(job, result)
            texts[self.trace] = trace_content(self.trace, job, result.best.plan, clocks)
        if result.best is not None and self.plot is not None:
            texts[self.plot] = _drawn(request, result, result.best, self.plot)
        if result.front:
            texts |= {path: writer_for(path)(result) for path in self.pareto}
        return texts


def _drawn(request: Request, result: SolveResult, best: PlanResult, path: Path) -> str | bytes:
    """The pictures of an answer, or as a page its whole report."""
    from planner.report.charts.plan import piped_timeline, solve_picture  # noqa: PLC0415  (not for --help)
    from planner.report.pages.picture_file import picture_bytes  # noqa: PLC0415

    job = _resolved(request, best)
    if path.suffix.lower() == ".html":
        return page_about(result, best, job)
    return picture_bytes(solve_picture(result, piped_timeline(job, best.plan)), path)


def _resolved(request: Request, best: PlanResult) -> Resolved:
    """The job on the machine of a plan."""
    from planner.question.resolved import resolve  # noqa: PLC0415  (not for --help)
    from planner.search.machines.machines import on_machine  # noqa: PLC0415

    return resolve(on_machine(request, best.machine), chips=best.chips)


def _plan_text(request: Request, result: SolveResult, best: PlanResult, output: Path) -> str:
    from planner.question.files.plan_text import plan_text  # noqa: PLC0415  (not for --help)
    from planner.question.pools import plan_of_pools, resolve_pools  # noqa: PLC0415
    from planner.question.request import ARGUMENTS  # noqa: PLC0415
    from planner.results.words import best_words  # noqa: PLC0415

    again = f"evaluate again with: planner evaluate {path_written(output.name)}"
    comments = [*best_words(result, best), again]
    if request.pools is not None:
        return plan_of_pools(resolve_pools(request, ARGUMENTS), best.plan, comments, output.parent)
    return plan_text(_resolved(request, best), best.plan, comments, output.parent)
