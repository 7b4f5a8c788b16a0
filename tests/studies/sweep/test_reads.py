"""What answers were found from: files that change meanwhile, lead to others, or lie elsewhere."""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner
from planner.answers.sweeping import answering, solve_in_order
from planner.base.errors import InputError, UnfinishedError
from planner.question.asked import ASKED
from planner.question.request import request_from
from planner.studies.sweep.question.keys import Keys
from planner.studies.sweep.question.study import Study, study_of
from planner.studies.sweep.reads import Reads
from planner.studies.sweep.running.run import Run, run_study
from planner.studies.sweep.store import FAILED, Counts, Solved, Store
from strict_yaml import contents
from studies.sweep.stand_in import Here, Questions

ROOT = Path(__file__).parents[3]
CLUSTER = (ROOT / "hardware_db/data/examples/my-cluster.yaml").read_text(encoding="utf-8")
MODEL = (ROOT / "models_db/data/examples/my-model.yaml").read_text(encoding="utf-8")
LAUNCH = """source ./env.sh
torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py $ARGS --bf16 --use-distributed-optimizer \\
  --overlap-grad-reduce --overlap-param-gather --tensor-model-parallel-size $TP \\
  --micro-batch-size 1 --global-batch-size 128
"""
ARGUMENTS = """ARGS="--num-layers 40 --hidden-size 5120 --num-attention-heads 40 \\
  --seq-length 4096 --swiglu --ffn-hidden-size 13824 --untie-embeddings-and-output-weights \\
  --normalization RMSNorm --position-embedding-type rope --disable-bias-linear"
TP=2
"""
FILES = {
    "cluster.yaml": CLUSTER,
    "like.yaml": "{like: cluster.yaml, name: mine}\n",
    "model.yaml": MODEL,
    "assumed.yaml": "causal_share: 50%\n",
    "sc/run": LAUNCH,
    "sc/run.sh": LAUNCH,
    "sc/env.sh": ARGUMENTS,
}
SMALL: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8,
                         "fix": {"tp": ["1"], "pp": ["1"]}}  # fmt: skip
LARGE: dict[str, Any] = {"model": "llama2-13b", "hardware": "dgx-a100-80-hdr", "chips": 16}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that questions name, which is the current one."""
    (tmp_path / "sc").mkdir()
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def ran(study: Study, act: Callable[[Questions], str] | None = None) -> Counts:
    return run_study(study, Path("s.db"), Run(solve=solve_in_order, workers=Here(act)))


def answers() -> list[Any]:
    with Store(Path("s.db")) as store:
        return [row.answer for row in store.rows("") if row.answer]


def study(**fields: Any) -> Study:
    asked = {**SMALL, "clocks": False, **fields}
    chips = asked.pop("chips")
    return study_of(asked, cross={"chips": [chips]})


@each(("fields", "file", "old", "new"), [
    ({"hardware": "cluster.yaml"}, "cluster.yaml", "4.0e+12", "3.0e+12"),
    ({"hardware": "like.yaml"}, "cluster.yaml", "4.0e+12", "3.0e+12"),
    ({"model": "model.yaml"}, "model.yaml", "layers: {value: 32", "layers: {value: 16"),
    ({"assumptions": "assumed.yaml"}, "assumed.yaml", "50%", "100%"),
])  # fmt: skip
def test_files_are_part_of_a_question(
    here: Path, fields: dict[str, Any], file: str, old: str, new: str
) -> None:
    check_followed(here, fields, file, old, new)


@each(("name", "file", "old", "new"), [
    ("sc/run.sh", "sc/env.sh", "TP=2", "TP=4"),
    ("sc/run", "sc/env.sh", "TP=2", "TP=4"),
    ("sc/run", "sc/run", "$TP", "4"),
])  # fmt: skip
def test_launches_are_part_of_a_question_with_what_they_source(
    here: Path, name: str, file: str, old: str, new: str
) -> None:
    check_followed(here, {**LARGE, "resume_from": name}, file, old, new)


def check_followed(here: Path, fields: dict[str, Any], file: str, old: str, new: str) -> None:
    """A point is solved once, and again once a file has changed."""
    write_files(here)
    Path("s.db").unlink(missing_ok=True)
    asked = study(**fields)
    ran(asked)
    assert ran(asked, no_question).done == 1
    before = answers()
    edited(here / file, old, new)
    ran(asked)
    assert answers() != before


@each(("field", "file"), [
    ("assumptions", "none.yaml"), ("failure_site", "none.yaml"), ("calibration", "none.txt"),
    ("resume_from", "none.sh"), ("resume_from", "none.json:2"),
])  # fmt: skip
def test_a_file_that_is_not_there_ends_the_run(here: Path, field: str, file: str) -> None:
    """Its points were stored as refused, and the exit code was 0."""
    write_files(here)
    Path("s.db").unlink(missing_ok=True)
    with pytest.raises(InputError, match="cannot be read"):
        ran(study(**{field: file}), no_question)
    assert not Path("s.db").exists()


def no_question(_: Questions) -> str:
    raise AssertionError("it was solved again")


def test_whoever_reads_says_what(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file that is opened for a question is noted, whatever reads it."""
    opened, own = set[str](), io.open

    def noted(file: Any, *rest: Any, **how: Any) -> Any:
        opened.add(os.path.relpath(file, here))
        return own(file, *rest, **how)

    monkeypatch.setattr(io, "open", noted)
    tensor = {"dtype": "BF16", "shape": [151936, 4096], "data_offsets": [0, 1244659712]}
    header = json.dumps({"model.embed_tokens.weight": tensor}).encode()
    (here / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    for name, source in (
        ("config.json", "answers/files/config.json"),
        ("run.yaml", "formats/plan-1.yaml"),
        ("local.yaml", "cli/local.yaml"),
    ):
        (here / name).write_bytes((ROOT / "tests" / source).read_bytes())  # fmt: skip
    (here / "site.yaml").write_text("failures: 3\nexposure_chip_hours: 1e5\n", encoding="utf-8")
    given = {"calibration": "local.yaml", "failure_site": "site.yaml", "train_tokens": "1e9",
             "assumptions": "assumed.yaml"}  # fmt: skip
    for fields in ({**SMALL, **given, "resume_from": "run.yaml"},
                   {**LARGE, "resume_from": "sc/run"},
                   {**SMALL, "model": ".", "hardware": "like.yaml"}):  # fmt: skip
        solve_in_order([("", fields)])
        opened.clear()
        (found,) = solve_in_order([("", fields)])
        mine = {name for name in opened if not name.startswith("..")}
        assert found.status not in FAILED, found.answer
        assert len(mine) >= 2
        assert mine == {name for name, note in found.read if note}


def test_every_field_that_may_name_a_file_is_known() -> None:
    names = {field.name for field in ASKED if field.names_a_file}
    assert names == {
        "model", "hardware", "assumptions", "calibration", "failure_site", "resume_from"
    }  # fmt: skip


def test_a_file_that_changes_during_a_run_ends_it(here: Path) -> None:
    """What workers then find is not kept, and the same command goes on once it is put back."""
    asked = study_of(
        {**SMALL, "hardware": "cluster.yaml", "clocks": False, "chips": 8},
        cross={"seq_len": [256, 512, 1024, 2048]},
    )
    ran(asked)
    fresh = answers()
    Path("s.db").unlink()
    batches = list[int]()

    def act(questions: Questions) -> str:
        batches.append(len(questions))
        if len(batches) == 3:
            edited(here / "cluster.yaml", "4.0e+12", "3.0e+12")
        return "finished"

    with pytest.raises(UnfinishedError) as stopped:
        ran(asked, act)
    said = str(stopped.value)
    assert said.startswith("cluster.yaml: ")
    assert "read other contents than the run began with" in said
    assert said.endswith("2 of 4 points are stored; the same command goes on")
    edited(here / "cluster.yaml", "3.0e+12", "4.0e+12")
    assert answers() == fresh[: len(answers())]
    assert ran(asked).done == 4
    assert answers() == fresh


def test_a_sourced_file_that_changes_during_a_run_ends_it(here: Path) -> None:
    asked = study_of({**LARGE, "clocks": False, "resume_from": "sc/run"}, cross={
        "price_per_chip_hour": [1, 2]
    } | {"train_tokens": ["1e9"]})  # fmt: skip
    batches = list[int]()

    def act(questions: Questions) -> str:
        batches.append(len(questions))
        edited(here / "sc/env.sh", f"TP={2 ** len(batches)}", f"TP={2 ** (len(batches) + 1)}")
        return "finished"

    with pytest.raises(UnfinishedError, match=r"^sc/env.sh: "):
        ran(asked, act)


def test_another_host_has_another_file(here: Path) -> None:
    """None at all, too: a refusal there is no answer."""

    def elsewhere(questions: Questions) -> list[Solved]:
        (here / "cluster.yaml").unlink()
        found = solve_in_order(questions)
        assert [one.status for one in found] == ["refused"]
        return [one._replace(run={**one.run, "host": "node7"}) for one in found]

    run = Run(solve=elsewhere, workers=Here())
    with pytest.raises(UnfinishedError, match=r"^cluster.yaml: a worker on node7 read other"):
        run_study(study(hardware="cluster.yaml"), Path("s.db"), run)


def test_a_file_that_was_missing_counts_too(here: Path) -> None:
    """The launch is another one once the file that it sources is there."""
    text = (here / "sc/env.sh").read_text(encoding="utf-8").replace("TP=2", "")
    (here / "sc/env.sh").write_text(text, encoding="utf-8")
    (here / "sc/run").write_text(f"TP=2\nsource ./more.sh\n{LAUNCH}", encoding="utf-8")
    asked = study(**LARGE, resume_from="sc/run")
    ran(asked)
    before = answers()
    (here / "sc/more.sh").write_text("TP=4\n", encoding="utf-8")
    ran(asked)
    assert answers() != before


def test_launches_of_one_text_in_two_folders_are_two_questions(here: Path) -> None:
    """The second got the answer of the first, whatever it sources."""
    keys = set()
    for folder in ("one", "two"):
        (here / folder / "sc").mkdir(parents=True)
        write_files(here / folder)
        keys.add(Keys().key(request_from({**LARGE, "resume_from": f"{folder}/sc/run"})))
    assert len(keys) == 2


def test_fronts_of_a_fleet_are_kept_with_what_was_read(here: Path) -> None:
    fields = {**LARGE, "clocks": False, "resume_from": "sc/run"}
    found = []
    for tp in (2, 4):
        for read in (0, 1):
            with answering(Path("s.db")) as ask:
                found.append(ask(fields))
            assert ask.read == read
        edited(here / "sc/env.sh", f"TP={tp}", "TP=4")
    assert found[0] == found[1] != found[2] == found[3]


def test_two_files_whose_paths_differ_by_a_link_alone(here: Path) -> None:
    """`link/..` is the folder above the one that the link leads to, not that of the link."""
    (here / "other/folder").mkdir(parents=True)
    (here / "link").symlink_to("other/folder")
    (here / "other/cluster.yaml").write_text(CLUSTER.replace("4.0e+12", "3.0e+12"))
    names = ["cluster.yaml", "link/../cluster.yaml"]
    fixed = {name: value for name, value in SMALL.items() if name != "hardware"}
    asked = study_of({**fixed, "clocks": False}, cross={"hardware": names})
    assert ran(asked).by_status == {"optimal": 2}
    first, second = answers()
    assert first != second
    assert ran(asked, no_question).done == 2


def test_names_of_files_are_those_of_other_hosts_too(here: Path) -> None:
    """Whatever way the current folder is named, and whatever steps lead nowhere."""
    with contents.noting() as notes:
        for path in (Path("a"), "./a", here / "a", f"{here}//.//a", "b/../a", f"{here}/b/../a"):
            contents.holds(path, b"a")
    assert {*notes} == {"a", "b/../a"}


def test_a_session_follows_files(here: Path) -> None:
    """What is shared depends on what files hold, not on their names."""
    session = planner.Session()
    fields = {**LARGE, "clocks": False, "resume_from": "sc/run"}
    for tp in (2, 4):
        shared = planner.solve(**fields, session=session)
        assert shared.best == planner.solve(**fields).best
        assert shared.best.plan.tp == tp
        edited(here / "sc/env.sh", "TP=2", "TP=4") if tp == 2 else None


def test_notes_tell_what_was_read(here: Path) -> None:
    with contents.noting() as notes:
        planner.solve(**{**SMALL, "hardware": "like.yaml"}, clocks=False)
    assert {*notes} == {"like.yaml", "cluster.yaml"}
    assert not Reads({}).changed(notes.items())
    edited(here / "cluster.yaml", "4.0e+12", "3.0e+12")
    assert Reads({}).changed(notes.items()) == "cluster.yaml"
    keys = Keys()
    keys.key(request_from({**SMALL, "hardware": "like.yaml"}))
    assert {*keys.files} == {"like.yaml", "cluster.yaml"}


def test_the_beginning_of_a_file_and_one_that_is_read_twice(here: Path) -> None:
    path = here / "a"
    path.write_bytes(b"abcdef")
    with contents.noting() as notes:
        contents.holds(path, b"abc", whole=False)
    assert contents.note_of("a", notes["a"]) == notes["a"] != contents.note_of("a")
    with contents.noting() as notes:
        contents.holds(path, b"abc")
        contents.holds(path, b"abd")
    assert contents.note_of("a", notes["a"]) != notes["a"]
    assert contents.note_of("b") == ""
    assert contents.note_of("a\0") == ""
