"""Some 10,000 damaged files, and other cases, of `benchmarks/reliability.py`; its tables have more.

Seeds are fixed, and others than those of the tables.
"""

import contextlib
import inspect
import io
import os
import random
import re
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support.campaigns import campaigns
from support.cases import each

KINDS = (
    "job", "job with a layout", "plan", "plan beside another", "plan with stages", "front, JSON",
    "answer", "study", "fleet", "assumptions", "cluster of workers", "site of failures",
    "gaps between failures",
    "cluster", "cluster in full", "record like another", "chip", "model", "config.json",
    "graph, JSON", "graph, YAML", "graph, GraphML", "graph, edges", "graph, adjacency",
    "traffic, npy", "traffic, CSV", "traffic, YAML", "workload", "order of GPUs", "runs",
    "calibration", "nccl-tests", "GEMM", "GEMM, hipBLASLt", "GEMM, mamf-finder", "runs, packed",
    "rows of collectives", "rows of microbench", "rows of failures", "rows of energy",
    "rows of memory", "failures", "points", "log of a run", "log of accelerate",
    "log of torchtitan", "log of maxtext", "log of nanotron", "log of deepspeed",
    "log of DeepSpeed's pipeline", "log of transformers", "launch", "outputs, CSV",
    "outputs, matrix", "outputs, list", "outputs, NCCL", "outputs, ROCm", "outputs, Slurm",
    "outputs, ports", "trace, Kineto", "trace, packed", "trace, Nsight",
    "recipe of Megatron-Bridge", "recipe of NeMo 2", "recipe of NeMo 2 by name",
    "functions of torchtitan", "launch, TOML of torchtitan", "launch of NeMo 1",
    "launch of GPT-NeoX", "launch of Primus", "launch of Megatron-DeepSpeed",
    "launch of a Bridge recipe", "launch with experts", "launch, script of MaxText",
    "settings beside a script", "launcher's settings beside a script", "hosts beside a script",
    "definition, data classes", "definition, arguments of torchtitan",
    "definition, built by torchtitan", "definition, MaxText", "definition, arguments",
    "weights, index", "weights, header", "store", "store, its log", "schedule", "schedule, XML",
    "launch of megatron", "launch of deepspeed", "launch of torchtitan", "launch of maxtext",
    "launch of nanotron", "launch of axolotl", "launch of trl", "launch of torchtune", "front, CSV",
    "manifest", "certificate", "certificate of stages", "document of solve", "document of evaluate",
    "document of explain", "document of phases", "document of down",
)  # fmt: skip
QUICK = (
    "store", "config.json", "graph, JSON", "graph, YAML", "graph, GraphML", "graph, edges",
    "traffic, npy", "traffic, CSV", "failures", "schedule", "schedule, XML",
)  # fmt: skip
"""Commands that take less than 10 ms for a file; all others have fewer files here."""
READ_AT_ONCE = (
    *QUICK[1:], "GEMM", "nccl-tests", "points", "log of a run", "runs", "study",
    "launch of deepspeed",
)  # fmt: skip
"""Kinds that are read in less than 5 ms where no command is around it."""
SLOW = ("document of ", "launch with experts", "recipe of Megatron-Bridge", "definition, arguments")
"""How kinds begin whose commands, or what reads them, take a tenth of a second or more."""
PER_COMMAND, PER_QUICK_COMMAND, PER_SLOW, PER_READER, PER_QUICK_READER = 20, 40, 2, 15, 520


def test_every_kind_is_damaged_here() -> None:
    assert {*KINDS} == {*campaigns("readers").readers()}


@pytest.mark.every
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    """By the command that reads them, and by what reads them alone, which takes less."""
    inputs, reading = campaigns("inputs"), campaigns("readings").READINGS.get(kind)
    folder = inputs.Folder(tmp_path)
    reader = inputs.whole(inputs.readers()[kind], folder)
    commands = PER_QUICK_COMMAND if kind in QUICK else PER_COMMAND
    commands = PER_SLOW if kind.startswith(SLOW) else commands
    alone = PER_QUICK_READER if kind in READ_AT_ONCE else PER_READER
    commands = commands if reader.command else 0
    seen = set[str]()
    for way, count in ((None, commands), (reading, alone if reading else 0)):
        with _modules(seen):
            assert not count or folder.tried(reader, reader.content, way).answered
        for at in range(count):
            made = reader.damaged if at % inputs.STRAINED_EACH else reader.strained
            content = made(random.Random(f"tests {kind} {way is None} {at}"))
            outcome = folder.tried(reader, content, way)
            assert not outcome.fault(), content[:1000]
    parsed = campaigns("files_read").PARSED
    assert {module for module, kinds in parsed.items() if kind in kinds} <= seen


@contextlib.contextmanager
def _modules(seen: set[str]) -> Iterator[None]:
    """Notes the modules of this repository of which a function runs inside of it."""
    root = str(campaigns("files_read").ROOT) + os.sep

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_NEWLOCALS and code.co_name != "<module>":
            seen.add(code.co_filename.removeprefix(root))

    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_what_strains_a_reader_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much of the same, which no other damage has, nesting, and archives that lie."""
    strain, running = campaigns("strain"), campaigns("running")
    made = [strain.strained(b"<!--\na\n-->\n<s>\n", random.Random(at)) for at in range(200)]
    assert any(one.count(b"<!---->") >= 28 for one in made)
    assert any(one.count(b"[") >= 5000 for one in made)
    assert max(map(len, made)) < 1e6
    monkeypatch.setattr(running, "_HANGS_S", 0.2)
    over = re.compile(rb"(?:<!--.*?-->\s*)*<system[\s>]", re.DOTALL)  # once that of a reader
    done = running.read(lambda _: over.search(b"<!---->" * 28 + b" x"), Path("x"))
    assert "not done" in done.fault()
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as file:
        file.writestr("a", "text" * 100)
    refused = set[type[Exception]]()
    for at in range(200):
        try:
            with zipfile.ZipFile(
                io.BytesIO(strain.members(kept.getvalue(), random.Random(at)))
            ) as one:
                [*map(one.read, one.namelist())]
        except Exception as error:
            refused.add(type(error))
    assert {zipfile.BadZipFile, RuntimeError} <= refused
    assert any(issubclass(kind, RuntimeError) and kind is not RuntimeError for kind in refused)


def test_what_a_command_writes_unasked_is_gone(tmp_path: Path) -> None:
    running, before = campaigns("running"), sorted(Path.cwd().iterdir())
    log = tmp_path / "failures.csv"
    log.write_bytes(campaigns("samples").FAILURES)
    for _ in range(2):
        done = running.run("calibrate", "--failures", log)
        assert (done.code, done.err) == (0, "")
        assert "site.yaml" in done.out
    assert sorted(Path.cwd().iterdir()) == before
    assert [*running._scratch().iterdir()] == []


def test_a_fault_would_be_seen() -> None:
    """What counts as one, of all that a command may do."""
    running = campaigns("running")

    def fault(code: int, out: str = "", err: str = "", words: tuple[str, ...] = ()) -> str:
        done = running.Outcome(words=words, code=code, out=out, err=err, cpu_s=0, more_bytes=0)
        found: str = done.fault()
        return found

    assert fault(2, err="error: chips: 0\n") == ""
    assert fault(0, out="{}", words=("--json",)) == ""
    for given_up in (
        fault(2), fault(2, err="chips: 0\n"), fault(2, out="half", err="error: x\n"),
        fault(0, err="RuntimeWarning: overflow\n"), fault(0, out="{", words=("--json",)),
        fault(0, out='{"a": NaN}', words=("--json",)), fault(70), fault(-1, err="KeyError: 1"),
        fault(2, err="error: x\n" * 100), fault(2, err="error: \x1b[31mred\n"),
    ):  # fmt: skip
        assert given_up


def test_a_command_that_never_ends_and_memory_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They once were a refusal, and nothing after an input that had taken more."""
    running = campaigns("running")

    def forever(*_: object) -> None:
        while True:
            time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(running, "_HANGS_S", 0.05)
        patch.setattr("planner.cli.main._run", forever)
        assert "not done" in running.run("doctor").fault()
        assert "not done" in running.read(forever, Path("x")).fault()
    for megabytes, slow in ((60, False), (300, True), (290, True), (60, False)):
        monkeypatch.setattr(running, "MEMORY_BYTES", 250e6)
        done = running.read(lambda _, size=megabytes: len(b"x" * (size * 10**6)), Path("x"))
        assert bool(done.cost()) == slow, megabytes


def test_faults_at_every_call() -> None:
    faults, told = campaigns("faults"), list[str]()
    ((_, count),) = faults.injected(told.append, "models import")
    assert told == []
    assert count.tried == 3 * count.calls >= 27


def test_a_file_that_is_written_in_place_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once only lengths were compared, and only files that `planner.base.files` opens failed."""
    faults, told = campaigns("faults"), list[str]()

    @contextlib.contextmanager
    def in_place(path: Path) -> Iterator[Path]:
        yield path

    monkeypatch.setattr("planner.studies.sweep.exports.being_written", in_place)
    monkeypatch.setattr(faults, "WRITES", {"sweep table": faults.WRITES["sweep table"]})
    ((_, count),) = faults.injected(told.append)
    assert count.faults == len(told) > 10
    assert any("neither the old file nor the new one" in line for line in told)


@each(("files", "wrong"), [
    ({"a": b"old", "b": b"old"}, ""), ({"a": b"new", "b": b"two"}, ""),
    ({"a": b"\0\0\0", "b": b"old"}, "neither"), ({"a": b"new", "b": b"old"}, "is new and"),
    ({"a": b"new"}, "gone"), ({"a": b"old", "b": b"old", ".planner-1": b""}, "left"),
])  # fmt: skip
def test_halves_of_files_would_be_seen(files: dict[str, bytes], wrong: str) -> None:
    before, whole = {"a": b"old", "b": b"old"}, {"a": b"new", "b": b"two"}
    found = campaigns("faults").halved(files, before, whole)
    assert wrong in found
    assert bool(found) == bool(wrong)


def test_a_file_that_a_cut_of_power_empties_would_be_seen(tmp_path: Path) -> None:
    one, path = campaigns("faults").Injection(within=tmp_path), tmp_path / "a"
    for late in (b"", b"more"):
        with one.installed(), path.open("wb") as file:
            file.write(b"text")
            file.flush()
            os.fsync(file.fileno())
            file.write(late)
            file.close()
            os.replace(path, tmp_path / "b")
            folder = os.open(tmp_path, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        assert len(one.unsafe) == bool(late)
    assert one.calls[:5] == ["open", "write", "fsync", "write", "close"]


def test_surroundings_hold_what_a_command_leaves_against_the_usual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The status of a closed pipe was 0 always, and no folder was read-only."""
    surroundings, told = campaigns("surroundings"), list[str]()
    monkeypatch.setattr(surroundings, "COMMANDS", ("models import",))
    for what in ("closed pipe", "read-only folder"):
        assert [count.tried for _, count in surroundings.surrounded(told.append, what)] == [1]
    assert told == []
    monkeypatch.setattr(surroundings, "PROGRAM", [sys.executable, "-c", "print(1, flush=True)"])
    monkeypatch.setattr(surroundings, "_files_of", lambda *_: {"new.yaml": b"usual"})
    for what in ("no HOME", "closed pipe", "read-only folder"):
        assert [count.faults for _, count in surroundings.surrounded(told.append, what)] == [1]


def test_extreme_figures_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    told, extremes = list[str](), campaigns("extremes")
    few = ("chip.peak.bf16", "cluster.levels.leaf.latency", "model.heads", "model.hidden")
    monkeypatch.setattr(extremes, "_some", lambda *_: few)
    _, count = next(extremes.campaign(1, told.append))
    assert (count.fields, count.tried, count.ordered) == (4, 20, 4)
    assert count.moved >= 12
    options = campaigns("options")
    counts: dict[str, Any] = options.campaign(0, 7, told.append)
    assert counts["its plan evaluated alone costs the same"].tried == len(options.KNOWN)
    assert told == []


def test_a_figure_that_is_ignored_would_be_seen() -> None:
    """Once a model that heeds no bandwidth, and one that refuses every change, had no fault."""
    unmoved = campaigns("extremes")._unmoved
    usual = dict.fromkeys(("time", "energy", "memory"), 1.0)
    heeded = {1.0: usual, 2.0: usual | {"time": 0.5, "memory": 2.0}}
    fast, width = "chip.memory.bandwidth", "model.hidden"
    assert [*unmoved({fast: heeded, width: heeded})] == []
    assert len([*unmoved({fast: {1.0: usual, 2.0: usual}, width: heeded})]) == 1
    refused = [*unmoved({fast: {1.0: usual}, width: {1.0: usual}})]
    assert "0 of 10 sizes are answered" in refused


def test_a_refusal_is_no_answer_that_holds() -> None:
    """Of a limit or a range of chips that was refused nothing was said."""
    options, running = campaigns("options"), campaigns("running")

    def done(code: int, out: str = "", err: str = "") -> Any:
        return running.Outcome(
            words=("solve", "--json"), code=code, out=out, err=err, cpu_s=0, more_bytes=0
        )

    refused, none = done(2, err="error: chips-at-most: no\n"), done(3, '{"certificate": {}}')
    found = done(0, '{"certificate": {"objective": 2.0}}')
    for held in (options._not_better, options._not_worse):
        assert "chips-at-most" in held(refused, 2.0)
        assert held(found, 2.0) == ""
    assert options._not_better(none, 2.0) == options._not_better(found, 1.0) == ""
    assert options._not_better(found, 3.0)
    assert options._not_worse(none, 2.0)
    assert options._not_worse(found, 1.0)


def test_a_wrong_direction_would_be_seen() -> None:
    extremes, usual = campaigns("extremes"), dict.fromkeys(("time", "energy", "memory"), 1.0)

    def said(path: str, **changed: float) -> list[str]:
        return [*extremes._wrong(path, {1.0: usual, 2.0: usual | changed})]

    assert said("chip.peak.bf16", time=0.5) == said("chip.power.host", energy=1.1) == []
    for path, changed in (
        ("chip.peak.bf16", {"time": 1.1}), ("cluster.levels.leaf.latency", {"time": 0.9}),
        ("model.moe.top_k", {"memory": 0.9}), ("chip.energy.memory", {"energy": 0.9}),
        ("chip.die.area", {"time": float("nan")}), ("chip.die.area", {"energy": -1.0}),
    ):  # fmt: skip
        assert len(said(path, **changed)) == 1, path


def test_licences_of_what_users_install() -> None:
    licences, told = campaigns("licences"), list[str]()
    rows = [row for row in licences.campaign(told.append) if row.needed_by in ("planner", "viz")]
    assert {"numpy", "ortools", "resvg_py"} <= {row.package for row in rows}
    assert not [line for line in told if ", for planner" in line or ", for viz" in line]
    for text, kind in (
        ("MIT", "permissive"), ("GPL-3.0-only", "copyleft"), ("GPLv2", "copyleft"),
        ("LGPL-2.1", "by file"), ("MPL-2.0", "by file"), ("BSD License", "permissive"),
        ("MIT AND GPL-2.0", "copyleft"), ("GPL-2.0 OR MIT", "permissive"), ("", "unknown"),
        ("GNU Lesser General Public License", "by file"), ("Proprietary", "unknown"),
        ("GNU General Public License (GPL)", "copyleft"), ("AGPL-3.0", "copyleft"),
    ):  # fmt: skip
        assert licences.kind_of(text) == kind, text


class _Few:
    """The file of one command."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "gpus.csv"
        self.file.write_bytes(campaigns("samples").GPUS)

    def word(self, word: str, _: int) -> str:
        return {"DETECTED": str(self.file), "OUT": str(self.folder / "out")}.get(word, word)


def test_a_line_that_is_to_work_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of two commands were refused always, and nothing that was drawn did more."""
    commands, told = campaigns("commands"), list[str]()
    monkeypatch.setattr(commands, "Files", _Few)
    monkeypatch.setattr(commands, "drawn", lambda *_: ("targets", "--json"))
    monkeypatch.setattr(commands, "_apart", lambda *_: "")
    for name in ("hardware detect", "measure", "targets"):
        ((_, count), _) = commands.campaign(1, 1, told.append, name)
        assert (count.tried, count.answered, count.faults) == (1, 1, 0), told
    monkeypatch.setitem(commands.BASES, "targets", "--no-such-option")
    ((_, count), _) = commands.campaign(1, 1, told.append, "targets")
    assert (count.faults, len(told)) == (1, 1)


def test_a_campaign_of_inputs_goes_on_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, told, kept = campaigns("inputs"), list[str](), tmp_path / "counts.json"
    few = {kind: reader for kind, reader in inputs.readers().items() if kind.startswith("traffic")}
    monkeypatch.setattr(inputs, "readers", lambda: few)
    first = inputs.campaign(12, 5, told.append, kept=kept)
    assert {kind: count.inputs for kind, count in first.items()} == dict.fromkeys(few, 12)
    second = inputs.campaign(25, 5, told.append, kept=kept)
    whole = inputs.campaign(25, 5, told.append)
    for kind, count in whole.items():
        assert (second[kind].inputs, second[kind].refused) == (25, count.refused)
    assert inputs.campaign(30, 5, told.append, kept=kept, most_s=0) == second
    monkeypatch.setattr(inputs, "_code", lambda: "other code")
    assert inputs.campaign(30, 5, told.append, kept=kept, most_s=0) == {}
    assert told == []
