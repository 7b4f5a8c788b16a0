"""Faults that are put in, each of which a campaign of `benchmarks/reliability.py` tells."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.campaigns import campaigns
from support.cases import each

BEST = {
    "chips": 8, "mesh": {"dp": 8}, "micro_batch": 1, "schedule": "1f1b", "interleave": 1,
    "recompute": "none", "step_time_s": 1.0, "energy_per_step_j": 1.0, "mfu": 0.5,
    "memory_per_chip_bytes": 1e9, "power_per_chip_w": 500.0,
}  # fmt: skip
SOLVED = {"best": BEST, "certificate": {"objective": 1.0}}
ROWS = {"rows": [{"fits": True, "strategy": "dp", "step_time_s": 2.0}]}
ANSWERS: dict[str, Any] = {"solve": SOLVED, "evaluate": BEST, "feasible": ROWS, "export": {}}


def _outcome(words: tuple[object, ...], code: int, out: str = "", err: str = "") -> Any:
    return campaigns("running").Outcome(
        words=tuple(map(str, words)), code=code, out=out, err=err, cpu_s=0, more_bytes=0
    )


def _stand_in(refused: Callable[[list[str]], int]) -> Callable[..., Any]:
    """What answers every command of the options at once, but with a code for some."""

    def run(*words: object) -> Any:
        said = [*map(str, words)]
        if code := refused(said):
            refusal = ("", "error: no\n") if code == 2 else ("{}", "")
            return _outcome(words, code, *refusal)
        if said[0] == "solve" and "-o" in said:
            Path(said[said.index("-o") + 1]).write_text("job: {model: a, hardware: b}\n")
        return _outcome(words, 0, json.dumps(ANSWERS[said[0]]))

    return run


@each(("refused", "faults"), [
    (lambda _: 0, 0), (lambda words: 2 * (words[0] == "export"), 5),
    (lambda words: 2 * ("torchtitan" in words), 1), (lambda words: 2 * (words[0] == "feasible"), 1),
    (lambda words: 2 * (words[0] == "solve"), 19), (lambda words: 3 * (words[0] == "solve"), 19),
    (lambda words: 3 * ("--max-power" in words), 1),
])  # fmt: skip
def test_options_of_commands_that_refuse_everything(
    refused: Callable[[list[str]], int], faults: int
) -> None:
    """Their rows were left out, and one row without a fault was left where `solve` refused."""
    options, told = campaigns("options"), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "run", _stand_in(refused))
        counts = options.campaign(0, 1, told.append)
    assert tuple(counts) == options.ROWS
    assert sum(count.faults for count in counts.values()) == len(told) == faults, told
