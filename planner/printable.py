"""What every answer has: it prints as the command line does, and as HTML in notebooks."""

from __future__ import annotations


class Shown:
    """Prints as the command line does, and as HTML in notebooks."""

    __slots__ = ()

    def __str__(self) -> str:
        from planner.report.shown import as_text  # noqa: PLC0415  (only to print)

        return as_text(self)

    def _repr_html_(self) -> str:
        from planner.report.shown import as_html  # noqa: PLC0415  (only in notebooks)

        return as_html(self)
