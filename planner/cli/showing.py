"""How much of an answer is printed: one screen, some sections of all, or a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from planner.base.errors import InputError
from planner.cli.completing import among
from planner.cli.options import OUTPUT, option
from planner.cli.output import progress_bar
from planner.report.printing import print_text
from planner.report.section_names import ALL, EVALUATE, SOLVE, sections_in

if TYPE_CHECKING:
    from planner.explanation.sensitivity.elasticities import Elasticity
    from planner.report.tables.next_commands import Asking
    from planner.results.result import EvaluateResult, SolveResult


def _show(sections: Iterable[str]) -> Any:
    """The flag, with the sections that there are."""
    names = [*sections, ALL]
    return option(
        f"Sections to print in full in place of the one screen: {', '.join(names)}.",
        OUTPUT,
        "--show",
        metavar="SECTION,...",
        complete=among(names),
    )


ShowSolve = Annotated[str | None, _show(SOLVE)]
ShowEvaluate = Annotated[str | None, _show(EVALUATE)]
Quiet = Annotated[bool, option("Print one line: the plan and its step time.", OUTPUT, "--quiet")]


def shown_sections(
    show: str | None, sections: Mapping[str, str], *, quiet: bool, as_json: bool
) -> tuple[str, ...]:
    """The sections that are asked for; none: the one screen.

    Raises:
        InputError: One is not known, or something else decides what is printed.
    """
    given = {"show": show is not None, "quiet": quiet}
    for name in (name for name, there in given.items() if there and as_json):
        raise InputError(f"{name}: has no effect with --json, which prints everything; give one")
    if all(given.values()):
        raise InputError("show: has no effect with --quiet, which prints one line; give one")
    return () if show is None else sections_in(show, sections)


def print_solved(
    result: SolveResult, asking: Asking, sections: tuple[str, ...], *, quiet: bool
) -> None:
    """Prints an answer of `planner solve`."""
    from planner.report.tables.screen import solve_line, solve_screen  # noqa: PLC0415  (not for --help)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    if quiet:
        print_text(solve_line(result))
    elif sections:
        from planner.report.tables.sections import solve_view  # noqa: PLC0415  (few ask for it)

        leaning = _leaning_of(result) if "leaning" in sections else ()
        print_view(solve_view(result, sections, leaning))
    else:
        print_view(solve_screen(result, asking))


def _leaning_of(result: SolveResult) -> tuple[Elasticity, ...]:
    """The numbers that the best plan leans on, from evaluations of its own."""
    from planner.answers import explained  # noqa: PLC0415  (not for --help)

    with progress_bar(wanted=True, verb="changing") as on_progress:
        return tuple(explained.leaning_of(result, on_progress))


def print_improvements(result: EvaluateResult) -> None:
    """Prints the better plans near to a launch, below its costs."""
    from planner.report.tables.improvement import print_improvement  # noqa: PLC0415  (few ask for it)

    print_text("")
    print_improvement(result.launch["improvements"])


def print_evaluated(
    result: EvaluateResult, asking: Asking, sections: tuple[str, ...], *, quiet: bool
) -> None:
    """Prints an answer of `planner evaluate`."""
    from planner.report.tables.screen import evaluate_line, evaluate_screen  # noqa: PLC0415  (not for --help)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    if quiet:
        print_text(evaluate_line(result))
    elif sections:
        from planner.report.tables.sections import evaluate_view  # noqa: PLC0415  (few ask for it)

        print_view(evaluate_view(result, sections))
    else:
        print_view(evaluate_screen(result, asking))
