"""Faults that are put in, each of which a campaign of `benchmarks/reliability.py` tells."""

import itertools
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.campaigns import campaigns
from support.cases import each

from hardware_db import load_cluster

BEST = {
    "chips": 8, "mesh": {"dp": 8}, "micro_batch": 1, "schedule": "1f1b", "interleave": 1,
    "recompute": "none", "sharding": "ddp", "sequence_parallel": False, "cp_mode": "ring",
    "offload": [], "split": "even", "clock": 1.0, "placement": {"order": ["tp", "dp", "pp"]},
    "step_time_s": 1.0, "energy_per_step_j": 1.0, "mfu": 0.5,
    "memory_per_chip_bytes": 1e9, "power_per_chip_w": 500.0,
}  # fmt: skip
SOLVED = {"best": BEST, "certificate": {"objective": 1.0}}
ROWS = {"rows": [{"fits": True, "strategy": "dp", "step_time_s": 2.0}]}
JOB = {"seq_len": 4096, "batch_tokens": 65536, "precision": "bf16", "job": "pretrain"}
ANSWERS: dict[str, Any] = {
    "solve": SOLVED, "evaluate": {**BEST, "job": JOB}, "feasible": ROWS, "export": {"lossy": []},
}  # fmt: skip


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


@each(("field", "value"), [
    ("sharding", "zero1"), ("offload", ["optimizer"]), ("sequence_parallel", True), ("clock", 0.9),
    ("mesh", {"dp": 4}), ("seq_len", 2048), ("batch_tokens", 32768), ("precision", "fp8"),
    ("job", "sft"),
])  # fmt: skip
def test_a_field_that_is_read_back_otherwise(field: str, value: Any, tmp_path: Path) -> None:
    """Five fields were held against one another, and of the job none."""
    options, lossy = campaigns("options"), list[dict[str, str]]()
    plan = tmp_path / "plan.yaml"
    plan.write_text("job: {model: a, hardware: b}\n", encoding="utf-8")
    other = {**BEST, "job": {**JOB, field: value} if field in JOB else JOB}
    other |= {} if field in JOB else {field: value}

    def run(*words: object) -> Any:
        said = {"lossy": lossy} if words[0] == "export" else (
            other if "--from" in words else ANSWERS["evaluate"]
        )  # fmt: skip
        return _outcome(words, 0, json.dumps(said))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "run", run)
        assert "is read as" in options._back(plan, BEST, "megatron")
        names = [*value] if field == "mesh" else [field]
        lossy += [{"field": name, "reason": "left to code"} for name in names]
        assert options._back(plan, BEST, "megatron") == ""


@each(("what", "printed", "wrong"), [
    ("dumb terminal", "'plain'", ""), ("dumb terminal", "chr(27) + '[31mred'", "a dumb terminal"),
    ("dumb terminal", "'a', file=sys.stderr", "nothing is printed"),
    ("dumb terminal", "'a'); print(chr(27) + '[2K', file=sys.stderr", "a dumb terminal"),
    ("20 columns", "chr(27) + '[1m' + 20 * 'a' + chr(27) + '[0m'", ""),
    ("20 columns", "chr(27) + '[1m' + 21 * 'a'", "wider than 20"),
    ("20 columns", "'a'", "no style"),
    ("1 column", "chr(27) + '[1m\u6f22'", "wider than 1"),
    ("20 columns", "chr(27) + '[m' + str(os.get_terminal_size().columns)", ""),
])  # fmt: skip
def test_what_a_terminal_gets(what: str, printed: str, wrong: str) -> None:
    """Standard output went nowhere, so that no terminal was tried."""
    surroundings, told = campaigns("surroundings"), list[str]()
    program = (
        f"import os, sys; assert sys.stdout.isatty() and sys.stderr.isatty(); print({printed})"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surroundings, "COMMANDS", ("rack topology",))
        patch.setattr(surroundings, "PROGRAM", [sys.executable, "-c", program])
        patch.setattr(surroundings, "halved", lambda *_: "")
        patch.setattr(surroundings, "_files_of", lambda place, _: place.files())
        patch.setattr(surroundings.Place, "cleared", lambda *_, **__: None)
        ((_, count),) = surroundings.surrounded(told.append, what)
    assert (count.faults, len(told)) == (bool(wrong), bool(wrong)), told
    assert all(wrong in line for line in told)


def _replaced(*paths: str) -> None:
    os.replace(*paths)  # as it is in that moment


def test_a_rename_that_a_cut_of_power_undoes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only fsync of files was looked at."""
    faults, told = campaigns("faults"), list[str]()
    monkeypatch.setattr("planner.base.replacement.rename", _replaced)
    monkeypatch.setattr(faults, "FAULTS", faults.FAULTS[1:2])
    ((_, count),) = faults.injected(told.append, "models import")
    assert count.faults == len(told) == 2
    assert all("its folder not kept by fsync" in line for line in told)


def test_names_that_cannot_be_given_or_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of link and unlink never failed. A file that no unlink takes away is counted."""
    faults, told = campaigns("faults"), list[str]()

    def command(*_: object) -> Any:
        new, copy = place.out / "new.yaml", place.out / ".planner-1"
        descriptor = os.open(new, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"new" * 10)
        os.close(descriptor)
        try:
            for call in (lambda: os.link(new, copy), lambda: os.unlink(copy)):
                with suppress(FileNotFoundError, *((OSError,) if tidy else ())):
                    call()
        except OSError as error:
            return _outcome((), -1, err=str(error))
        return _outcome((), 0)

    monkeypatch.setattr(faults, "run", command)
    monkeypatch.setattr(faults, "FAULTS", faults.FAULTS[:1])
    monkeypatch.setattr(faults, "_CALLS", ())
    for tidy in (True, False):
        with TemporaryDirectory() as folder:
            place, told = faults.Place(Path(folder)), []
            count = faults._of_command("x", ("-o", "OUT.yaml"), place, told.append)
        assert (count.tried, count.left, count.faults) == (4, 2, 0 if tidy else 4), told


def test_old_files_lie_in_the_folder_of_a_command_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only names with an ending had old files: an export was never tried over one."""
    faults, placed, told = campaigns("faults"), campaigns("place"), list[str]()

    def command(*words: str) -> Any:
        folder = Path(words[-1])
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        if not whole:
            with suppress(OSError):
                (folder / placed.OTHER).unlink()
        try:
            new = folder / ".planner-1"
            new.write_bytes(b"new")
            os.replace(new, folder / "train.py")
        except OSError as error:
            new.unlink(missing_ok=True)
            if made:
                folder.rmdir()
            return _outcome((), 2, err=f"error: {error}")
        return _outcome((), 0)

    monkeypatch.setattr(faults, "run", command)
    monkeypatch.setattr(faults, "FAULTS", faults.FAULTS[:1])
    monkeypatch.setattr(faults, "_CALLS", ("replace",))
    monkeypatch.setattr(faults, "_OF_NAMES", ("link", "unlink"))
    monkeypatch.setattr(placed, "run", command)
    words = ("export", "-o", "OUT")
    for whole in (True, False):
        with TemporaryDirectory() as name:
            place, told = faults.Place(Path(name)), []
            faults._of_command("export", words, place, told.append)
            place.cleared(words, old=True)
            there = place.files()
        assert there == {"new/other.txt": placed.OLD, "new/train.py": placed.OLD}
        assert any("new/other.txt is gone" in line for line in told) is not whole, told
        assert not any("is new and" in line for line in told), told


def test_a_command_before_the_last_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that failed was no fault where its table was the same as usual."""
    same, told = campaigns("same"), list[str]()

    def run(words: list[str], **_: object) -> Any:
        code = 1 if "run" in words else 0
        return subprocess.CompletedProcess(words, code, stdout="{}", stderr="error: no\n")

    monkeypatch.setattr(same.subprocess, "run", run)
    monkeypatch.setattr(same, "WAYS", {"the same again": same.WAYS["the same again"]})
    ((_, count),) = same.campaign(told.append, "sweep")
    assert (count.byte_equal, count.faults, len(told)) == (0, 1, 1)


def test_signals_that_all_come_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    signals, told = campaigns("signals"), list[str]()
    monkeypatch.setattr(signals, "halved", lambda *_, **__: "")
    monkeypatch.setattr(signals, "WRITES", {"models import": signals.WRITES["models import"]})
    for code, faults in ((0, 1), (130, 0)):
        monkeypatch.setattr(signals, "_signalled", lambda *_, code=code: (code, ""))
        monkeypatch.setattr(signals, "SIGNALS", signals.SIGNALS[:1])
        ((_, count),) = signals.signalled(3, 1, told.append)
        assert (count.tried, count.faults, len(told)) == (3, faults, 1)


def test_inputs_are_json_too_and_stores_are_damaged_as_databases() -> None:
    """No file of YAML was ever JSON, no JSON was large or odd, and stores had other bytes alone."""
    readers = campaigns("readers").readers()
    job = readers["job"]
    made = [job.damaged(random.Random(at)) for at in range(300)]
    texts = [one for one in made if one.lstrip()[:1] in (b"{", b"[")]
    assert 30 < len(texts) < 150
    texts = [campaigns("json_texts").json_text(job.tree, random.Random(at)) for at in range(400)]
    for odd in ("\x85", "\u2028", "\x7f", "\ufeff"):
        assert any(odd.encode() in one for one in texts), odd
    assert any(re.search(rb'"\s*\n\s*:', one) for one in texts)
    assert any(b"\\u2028" in one for one in texts)
    assert any(b"k" * 1025 in one for one in texts)
    large = [job.strained(random.Random(at)) for at in range(200)]
    assert max(map(len, large)) < 1e6
    assert any(one.count(b'"x') >= 20_000 for one in large)
    assert any(re.search(rb"\[\s*(1\.5[\s,]*){4000}", one) for one in large)
    stores = campaigns("stores")
    said = {stores.statement(random.Random(at)).split()[0] for at in range(300)}
    assert {"UPDATE", "ALTER", "CREATE", "DROP", "DELETE", "INSERT", "PRAGMA"} <= said
    store = readers["store"]
    seen = dict[object, int]()
    for at in range(100):
        with closing(sqlite3.connect(":memory:")) as base:
            base.deserialize(stores.damaged(store.content, random.Random(at)))
            with suppress(sqlite3.DatabaseError):
                kinds = base.execute("SELECT type FROM sqlite_master").fetchall()
                for found in ((version := base.execute("PRAGMA user_version").fetchone()), *kinds):
                    seen[found[0]] = seen.get(found[0], 0) + 1
                assert version
    assert {1, 2, "view", "trigger", "table"} <= {*seen}
    log = readers["store, its log"]
    logs = {log.damage(log.content, random.Random(at)) for at in range(10)}
    assert len(logs) > 5
    assert all(one[:4] in (b"7\x7f\x06\x82", b"7\x7f\x06\x83", b"") for one in logs)


def test_a_reader_that_ends_in_a_defect_at_json_would_be_seen(tmp_path: Path) -> None:
    inputs, told = campaigns("inputs"), list[str]()
    folder, reader = inputs.Folder(tmp_path), campaigns("readers").readers()["job"]
    for at in range(60):
        outcome = folder.tried(reader, reader.damaged(random.Random(at)), _breaks_at_json)
        told += [outcome.fault()] if outcome.fault() else []
    assert any("KeyError" in line for line in told)


def _breaks_at_json(path: Path) -> None:
    if path.read_bytes().lstrip()[:1] == b"{":
        raise KeyError


@each(("printed", "said"), [
    ('{"a": 1, "seconds": 2}', ""), ('{"a": 2}', ".a: 1 and 2"), ('{"a": 1, "b": 1}', "and"),
    ("no document", "no document"), ("", "and ''"),
])  # fmt: skip
def test_a_process_that_answers_otherwise(printed: str, said: str) -> None:
    """Only its code was looked at, and whether it had a traceback."""
    commands = campaigns("commands")
    again = subprocess.CompletedProcess((), 0, stdout=printed, stderr="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands.subprocess, "run", lambda *_, **__: again)
        found = commands._apart(_outcome(("x", "--json"), 0, '{"a": 1, "seconds": 1}'), Path())
    assert bool(found) == bool(said)
    assert said in found


def test_rates_of_groups_that_are_nearly_the_same() -> None:
    """No plan was on a cube of chips, and no size brought two of its rates together."""
    extremes, found = campaigns("extremes"), set[float]()
    for job, mesh in extremes._PLANS.values():
        rates = dict(load_cluster(job["hardware"]).levels[0].bandwidth_by_group)
        if mesh.get("tp", 1) * mesh.get("cp", 1) in rates and mesh.get("cp", 1) > 1:
            pairs = itertools.permutations(rates.values(), 2)
            found |= {a * f / b for (a, b) in pairs for f in extremes.FACTORS}
    assert any(1 < one < 1.01 for one in found)


def test_what_is_repeated_has_names_that_differ_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One piece was repeated as it is, so that no file had many names."""
    strain, script = campaigns("strain"), b"#!/bin/bash\nTP=2\ntorchrun a.py --tp $TP\n"
    made = [strain.numbered(script, random.Random(at)) for at in range(30)]
    assert max(len({*one.split(b"\n")}) for one in made) >= 10_000
    assert max(map(len, made)) < 1e6
    monkeypatch.setattr(strain, "TIMES", (28,))
    found = b"".join(strain.strained(script, random.Random(at)) for at in range(1500))
    for piece in (
        b"if [ $X7 = 1 ]", b"case $X in 7)", b"A+=(--x7 7)", b"A[7]=7", b"TP7=2", b"\nk7: 7\n",
        b"elif [ $X = 7 ]", b"\n7) A7=1;;",
    ):  # fmt: skip
        assert piece in found
