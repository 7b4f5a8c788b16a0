"""How far a search for schedules is, and what it has so far."""

from __future__ import annotations

from frozen_records import dataclass
from planner.base.progress import NotedProgress
from planner.collectives.questions.answers import row_name
from solvers.collectives.candidates import short_fraction
from solvers.collectives.rows import Row
from solvers.collectives.walk import MORE_STEPS


@dataclass(slots=True)
class Standing:
    """Where the search for a front stands, in words."""

    on_progress: NotedProgress | None
    best: Row | None = None
    first: int = 0
    steps: int = 0
    chunks: int = 0

    def searching(self, steps: int, chunks: int) -> None:
        """A search begins."""
        self.steps, self.chunks = steps, chunks
        self.first = self.first or steps
        self.tell()

    def found(self, row: Row) -> None:
        """A row is there."""
        self.best = row
        self.tell()

    def tell(self) -> None:
        """Says it."""
        if self.on_progress is None:
            return
        note = f"S = {self.steps}, C = {self.chunks}" if self.steps else ""
        if self.best is not None:
            found = f"{row_name(self.best.schedule)}, R/C {short_fraction(self.best.load)}"
            note += f"; best {found}, at least {short_fraction(self.best.load_bound)}"
        done = min(self.steps - self.first, MORE_STEPS)
        self.on_progress("schedules", done, MORE_STEPS + 1, note)
