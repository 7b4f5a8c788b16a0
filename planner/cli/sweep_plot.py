"""`planner sweep plot`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import drawing_bar, print_json
from planner.cli.sweep_run import say_age
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.report.drawing.chart import Picture
    from planner.studies.sweep.answer import SweepResult
    from planner.studies.sweep.rows import Row

_WHAT = "What it shows"
_KINDS = ("map", "line", "scatter", "parallel")


def plot(
    store: Annotated[Path, typer.Argument(help="The store of a study.")],
    *,
    plot: Annotated[
        Path | None, option("The picture: .svg, .png or .html (needed).", OUTPUT)
    ] = None,
    kind: Annotated[
        str | None,
        option(
            "map: who wins where; line: a figure over an axis, with intervals; scatter: two "
            "figures and their front; parallel: many columns (default: by x and y).",
            _WHAT,
        ),
    ] = None,
    x: Annotated[str | None, option("Column across.", _WHAT)] = None,
    y: Annotated[str | None, option("Column upwards.", _WHAT)] = None,
    color: Annotated[str | None, option("Column that colours tell apart.", _WHAT)] = None,
    columns: Annotated[
        str | None, option("Columns of parallel lines.", _WHAT, metavar="NAME,...")
    ] = None,
    least: Annotated[
        str | None,
        option(
            "Of points in one place the one with the least of this wins, of mfu, hfu, "
            "tokens_per_s, share the most (default: what is minimized).",
            _WHAT,
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        option(
            "Points for which this holds, e.g. 'chips <= 512' (repeatable).",
            _WHAT,
            metavar="CONDITION",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A study as a picture, with its table: who wins where, a figure over an axis, fronts.

    Examples:
      planner sweep plot study.db --x chips --y batch_tokens --color best.mesh.tp --plot map.svg

      planner sweep plot study.db --x chips --y best.step_time_s --color model --plot lines.svg

      planner sweep plot study.db --x best.mfu --y best.energy_per_step_j --plot front.html

      planner sweep plot study.db --columns chips,best.mesh.tp,best.mfu --plot p.svg
    """
    from planner.question.provenance import stamped  # noqa: PLC0415  (numpy; not for --help)
    from planner.report.charts.sweep_looks import noted  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture, write_picture  # noqa: PLC0415
    from planner.report.tables.sweep import picture_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415
    from planner.studies.sweep.answer import opened  # noqa: PLC0415

    if plot is None:
        raise InputError("plot: is missing; name the picture, e.g. --plot map.svg")
    check_picture(plot)
    found = opened(store)
    asked = _Asked(found, kind, x, y, color, columns, least)
    with drawing_bar(plot, wanted=not as_json):
        age = found.age(where or [])
        picture = noted(asked.drawn(list(found.rows(where or []))), age)
        with before_printing():
            write_picture(picture, plot)
    say_age(age)
    chart = picture.charts[0]
    if as_json:
        fields = {"title": picture.title, "columns": chart.header, "stale": age.stale}
        print_json(stamped({**fields, "rows": [list(row) for row in chart.rows]}))
        return
    title = f"{chart.title}; {chart.subtitle}" if chart.subtitle else chart.title
    print_view(picture_view(title, chart.header, chart.rows))


class _Asked:
    """A picture as it is asked for, checked.

    Args:
        found: The study.
        kind, x, y, color, columns, least: As they were typed.

    Raises:
        InputError: A column is unknown, one is missing, or one has no place in this picture.
    """

    def __init__(
        self,
        found: SweepResult,
        kind: str | None,
        x: str | None,
        y: str | None,
        color: str | None,
        columns: str | None,
        least: str | None,
    ) -> None:
        self._found = found
        self.columns = self._names(columns, "columns")
        one = {"x": x, "y": y, "color": color, "least": least}
        self.x, self.y, self.color, self.least = (
            None if text is None else self._names(text, name)[0] for name, text in one.items()
        )
        self.kind = self._kind(kind)
        self._check()

    def _names(self, text: str | None, what: str) -> tuple[str, ...]:
        return () if text is None else self._found.named(text.split(","), what)

    def _kind(self, kind: str | None) -> str:
        """The kind, or that which the columns mean: a map of two axes, a line over one."""
        if kind is not None:
            if kind not in _KINDS:
                raise InputError(f"kind: {not_one_of(kind, _KINDS)}")
            return kind
        if self.columns:
            return "parallel"
        if self._is_axis(self.x):
            return "map" if self._is_axis(self.y) else "line"
        return "scatter"

    def _is_axis(self, name: str | None) -> bool:
        from planner.question.asked import BY_NAME  # noqa: PLC0415  (not for --help)

        return name is not None and (name in self._found.axes or name in BY_NAME)

    def _check(self) -> None:
        parallel = self.kind == "parallel"
        needed: Sequence[str] = ("columns",) if parallel else ("x", "y")
        others = ("x", "y") if parallel else ("columns",)
        problems = [
            f"{name}: is missing; a {self.kind} has one, e.g. --{name} {self._example(name)}"
            for name in needed
            if not getattr(self, name)
        ]
        problems += [
            f"{name}: has no place in a picture of the kind {self.kind}; leave it out"
            for name in others
            if getattr(self, name)
        ]
        if self.kind == "map" and self.color is None:
            problems.append("color: is missing; a map colours who wins, e.g. --color best.mesh.tp")
        if self.kind == "map" and self.color in (self.x, self.y):
            problems.append(
                f"color: {self.color} is an axis of this map, where each cell would win itself; "
                f"put another column there, e.g. --{'x' if self.color == self.x else 'y'} chips"
            )
        if problems:
            raise InputError("\n".join(problems))

    def _example(self, name: str) -> str:
        axes = self._found.axes
        return "best.step_time_s" if name == "y" or not axes else axes[0]

    def drawn(self, rows: Sequence[Row]) -> Picture:
        """The picture.

        Raises:
            InputError: No point has what it shows, or there are too many values.
        """
        from planner.report.charts import sweep_lines as lines  # noqa: PLC0415  (not for --help)
        from planner.report.charts.sweep_map import map_picture  # noqa: PLC0415
        from planner.studies.sweep.columns import NONE_CHOSEN  # noqa: PLC0415
        from planner.studies.sweep.winners import check_alike, minimized  # noqa: PLC0415

        if not rows:
            raise InputError(f"where: {NONE_CHOSEN}")
        x, y, least = self.x or "", self.y or "", self.least or minimized(rows)
        shown = {"x": (x,), "y": (y,), "color": (self.color,), "columns": self.columns}
        shown |= {"least": (least,)} if self.kind == "map" else {}
        if name := next((name for name, columns in shown.items() if "value" in columns), ""):
            check_alike(rows, name)
        if self.kind == "map":
            return map_picture(rows, x, y, self.color or "", least)
        if self.kind == "line":
            return lines.line_picture(rows, x, y, self.color, least)
        if self.kind == "scatter":
            return lines.scatter_picture(rows, x, y, self.color)
        return lines.parallel_picture(rows, self.columns, self.color)
