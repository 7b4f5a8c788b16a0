"""Answers that say more than their search are read back: a run that exists, changes of records."""

import json
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, solve
from planner.answers.files.result_file import read_result
from planner.base.errors import InputError
from planner.base.jsonfile import sealed

SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--batch-tokens", "64Ki",
         "--no-clocks", "--axes", "dp,tp")  # fmt: skip
RESUMED = ("--chips", "8", "--resume-from", "dp=8")


@each("more", [
    ("--resume-from", "tp=2,dp=4", "--chips", "8", "--set", "memory.bandwidth=2x"),
    RESUMED, ("--chips", "16", "--set", "levels.leaf.energy=0.5x"),
])  # fmt: skip
def test_a_fresh_answer_comes_out_again(more: tuple[str, ...], tmp_path: Path) -> None:
    path, answer = tmp_path / "answer.json", solve(*SMALL, *more)
    path.write_text(json.dumps(answer), encoding="utf-8")
    assert read_result(path).answer.to_dict()["question"] == answer["question"]
    answer["notes"]["caveats"].pop()
    path.write_text(json.dumps(sealed(answer)), encoding="utf-8")
    with pytest.raises(InputError, match=r"notes\.caveats: the file says"):
        read_result(path)


def test_an_answer_that_no_plan_loads_and_fits(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    none = planner("solve", *SMALL, *RESUMED, "--max-memory", "1GB", "--json")
    assert none.code == 3
    path.write_text(none.out, encoding="utf-8")
    assert read_result(path).plan is None
