"""Workers in this process that do what a test says: solve, die, or lose what they have."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.running.workers import Workers
from planner.studies.sweep.store import Solved

Questions = Sequence[tuple[str, Mapping[str, Any]]]
Act = Callable[[Questions], str]


class KilledWorker(Exception):
    """By its name what Dask raises when workers die on a task."""


class Future:
    """A future whose end is known at once."""

    def __init__(self, key: str, status: str, value: Any = None) -> None:
        self.key, self.status, self.value, self.cancelled = key, status, value, False

    def add_done_callback(self, told: Callable[[Any], None]) -> None:
        """Tells at once."""
        if self.status != "pending":
            told(self)

    def result(self, timeout: float) -> Any:
        """What was found."""
        return self.value

    def exception(self, timeout: float) -> Any:
        """What went wrong."""
        return self.value

    def cancel(self) -> None:
        """Gives it up."""
        self.cancelled = True


class Unfetched(Future):
    """One whose worker dies with what it has found."""

    def result(self, timeout: float) -> Any:
        """Nothing comes."""
        raise OSError("connection closed")


class Client:
    """Runs tasks when they are submitted; `act` says how each ends."""

    def __init__(self, act: Act | None = None) -> None:
        self.act, self.batches = act or (lambda _: "finished"), list[list[str]]()

    def submit(self, solve: Any, questions: Questions, *, key: str, pure: bool) -> Future:
        """A future of one batch."""
        assert not pure
        self.batches.append([one for one, _ in questions])
        status = self.act(questions)
        if status == "killed":
            return Future(key, "error", KilledWorker(key))
        if status == "broken":
            return Future(key, "error", ValueError("no such thing"))
        if status == "unloadable":
            return Future(key, "error", ModuleNotFoundError("No module named 'planner'"))
        if status == "unfetched":
            return Unfetched(key, "finished")
        return Future(key, status, solve(questions) if status == "finished" else None)


class Here(Workers):
    """Workers of which a test says how many threads there are."""

    patience_s, renewed_after_s, gone = 0.0, 1e9, "workers: are gone"

    def __init__(self, act: Act | None = None, threads: int = 2) -> None:
        super().__init__()
        self._client = Client(act)
        self.count, self.closed = threads, False

    def _connected(self) -> Any:
        return self._client

    @property
    def connected(self) -> bool:
        """The client is always there."""
        return True

    def threads(self) -> int:
        """As the test says."""
        return self.count

    def close(self) -> None:
        """Notes it."""
        self.closed = True


def known(questions: Questions) -> list[Solved]:
    """In the place of a solve: an answer that follows from the question."""
    return [
        Solved(key, answering_version(), "optimal", answer_of(fields), 0.5, {})
        for key, fields in questions
    ]


def answer_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """An answer like one of a solve: more chips take less time, each cluster its own."""
    chips = int(fields["chips"])
    faster = 2.0 if "b200" in str(fields.get("hardware")) else 1.0
    step_s = float(fields.get("batch_tokens", 1e6)) / 1e6 / chips / faster + 0.01 * faster
    return {
        "status": "optimal",
        "objective_name": "time",
        "objective": step_s,
        "best": {
            "chips": chips,
            "mesh": {"dp": chips, "tp": 1, "pp": 1},
            "sharding": "zero1",
            "micro_batch": 1,
            "recompute": "none",
            "step_time_s": step_s,
            "step_time_low_s": 0.9 * step_s,
            "step_time_high_s": 1.2 * step_s,
            "energy_per_step_j": 700.0 * step_s * chips,
            "mfu": 0.4,
        },
        "front": {"complete": True, "plans": [{"chips": chips}]},
        "diagnosis": None,
    }
