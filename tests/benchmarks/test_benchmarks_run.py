"""Every benchmark runs at its smallest size; what is timed is never compared."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cases import each

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(
    path.name for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)

# A stand-in for calculon: a small space of one tensor, pipeline and data parallelism, counted by
# a formula of its own; a data parallelism of 8 accepts micro-batches of 1 only.
STAND_IN = """
__version__ = "stand-in"


class System:
    def __init__(self, record):
        self.num_networks = record["networks"]
        self.mem2 = type("Memory", (), {"capacity": 1})
"""
STAND_IN_LLM = """
class Execution:
    from_json = staticmethod(dict)


class Llm:
    Error = type("Error", (Exception,), {})
    Execution = Execution

    class Application:
        def __init__(self, record):
            self.__dict__.update(record)

    def __init__(self, app, log):
        self.app = app

    def compile(self, system, execution):
        if execution["microbatch_size"] > 1:
            raise self.Error("does not fit")

    def run(self, system):
        pass

    def get_stats_json(self, include_layers):
        return {}

    get_all_tensor_parallelisms = staticmethod(lambda procs, hidden, heads: [8])
    get_all_pipeline_parallelisms = staticmethod(lambda procs, tp, blocks: [35])
    get_data_parallelism = staticmethod(lambda procs, tp, pp: procs // tp // pp)
    get_valid_pipeline_interleavings = staticmethod(lambda blocks, pp: [1, 3])
    get_valid_microbatch_sizes = staticmethod(lambda seq, tp, dp, batch, pp: [1, 2, 4])
    can_redo_ag = staticmethod(lambda kind, recompute: kind == "rs_ag" and recompute == "full")
"""
STAND_IN_SEARCH = """
class OptimalExecution:
    @staticmethod
    def search(debug, top, layers, procs, batch, datatype, app, system, tp, pp, dp, interleave,
               size, recompute, sharding, kind, fused, stop, tp_overlap, dp_overlap):
        redo = 2 if kind == "rs_ag" and recompute == "full" else 1
        offloads = 4 if recompute == "full" else 8
        count = redo * 2 * 3 * offloads * 3 * system.num_networks ** 3 + EXTRA
        return [], count, 0, 0, tp, pp
"""


def ran(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def stand_in(folder: Path, extra: int = 0) -> Path:
    """A checkout of the stand-in; `extra` executions are counted but not in its space."""
    files = {
        "calculon/__init__.py": STAND_IN,
        "calculon/llm/__init__.py": "from calculon.llm.llm import Llm as Llm\n",
        "calculon/llm/llm.py": STAND_IN_LLM,
        "calculon/llm/optimal_execution.py": STAND_IN_SEARCH.replace("EXTRA", str(extra)),
        "models/turing-530B.json": '{"hidden": 20480, "attn_heads": 128, "num_blocks": 105, '
        '"seq_size": 2048}',
        "systems/a100_80g.json": '{"networks": 2}',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def checked(outcome: subprocess.CompletedProcess[str]) -> None:
    """A JSON object with tables of numbers."""
    assert outcome.returncode == 0, outcome.stderr
    printed = json.loads(outcome.stdout)
    assert printed["machine"]["processor"]
    assert printed["tables"]
    for table in printed["tables"]:
        assert table["rows"], table["title"]
        assert all(row.keys() == table["rows"][0].keys() for row in table["rows"])
        numbers = [n for row in table["rows"] for n in row.values() if isinstance(n, int | float)]
        assert numbers, table["title"]
        assert all(number >= 0 for number in numbers), table["title"]


TOGETHER = """
import contextlib, io, json, os, runpy, sys, traceback

import measuring  # before numpy, as each script has it

ran = []
for path, *arguments in json.loads(sys.argv[1]):
    sys.argv = [path, *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(path, run_name="__main__")
            code = 0
        except SystemExit as done:
            code = done.code or 0
            if isinstance(code, str):
                print(code, file=sys.stderr)
                code = 1
        except Exception:
            traceback.print_exc()
            code = 1
    ran.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(ran))
"""


def ran_together(*lines: tuple[str, ...]) -> list[subprocess.CompletedProcess[str]]:
    """What scripts with arguments say that end before they measure, all of them in one process."""
    asked = json.dumps([(str(BENCHMARKS / name), *arguments) for name, *arguments in lines])
    command = [sys.executable, "-c", TOGETHER, asked]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [subprocess.CompletedProcess(asked, *said) for said in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def helps() -> dict[str, tuple[int, str]]:
    """The exit code and the text of `--help` of each script."""
    said = ran_together(*((name, "--help") for name in SCRIPTS))
    return {name: (one.returncode, one.stdout) for name, one in zip(SCRIPTS, said, strict=True)}


@each("name", SCRIPTS)
def test_help(name: str, helps: dict[str, tuple[int, str]]) -> None:
    code, text = helps[name]
    assert code == 0
    assert f"usage: {name}" in text


def imported(path: Path) -> Iterator[str]:
    """What a script imports when it starts, in order, by way of the modules beside it too."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            for name in names if isinstance(node, ast.Import) else [node.module or ""]:
                beside = BENCHMARKS / f"{name.replace('.', '/')}.py"
                if name != "measuring" and beside.exists():
                    yield from imported(beside)
                else:
                    yield name.partition(".")[0]


def test_threads_are_pinned_before_numpy_is_imported() -> None:
    """Alone, each script comes to `measuring` before all that is not of the standard library."""
    late = []
    for name in SCRIPTS:
        found = list(imported(BENCHMARKS / name))
        before = found[: found.index("measuring")] if "measuring" in found else []
        if set(before) - set(sys.stdlib_module_names):
            late.append((name, before))
    assert not late


@each(
    "name",
    [
        "commands.py",
        "throughput.py",
        "startup.py",
        "growth.py",
        "scaling.py",
        "stage_study.py",
        "neighbours.py",
    ],
)
def test_a_benchmark_runs(name: str) -> None:
    checked(ran(name, "--quick", "--json"))


PAIRED = """
import json
from pathlib import Path
import commands

order = []

def spent(name, checkout, folder):
    order.append(checkout.name)
    return {"mine": 3.0, "theirs": 2.0}[checkout.name] + len(order)

commands.cpu_s = spent
seconds = commands.measured("solve", [Path("mine"), Path("theirs")], "", 2)
print(json.dumps({"order": order, "row": commands.row_of("solve", seconds)}))
"""


def test_whole_commands_of_two_checkouts_are_paired() -> None:
    """In a process of its own: benchmarks are imported before numpy."""
    done = subprocess.run(
        [sys.executable, "-c", PAIRED], cwd=BENCHMARKS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["order"] == ["mine", "theirs", "mine", "theirs", "theirs", "mine"]
    row = found["row"]
    assert row["command"] == "planner solve --model llama2-13b --chips 4096"
    assert (row["least s"], row["other: least s"], row["ratio of least"]) == (6.0, 6.0, 1.0)
    assert row["median ratio"] == pytest.approx((6 / 6 + 9 / 7) / 2)


def test_uneven_pipelines_are_never_worse_than_uniform_ones() -> None:
    outcome = ran("uneven.py", "--quick", "--json")
    checked(outcome)
    tables = {table["title"]: table["rows"] for table in json.loads(outcome.stdout)["tables"]}
    (proof,) = tables["The fastest plan"]
    assert proof["proved"] is True
    (saved,) = tables["Step time saved, all clocks at the highest"]
    assert saved["layers, %"] <= saved["+ recompute, %"] <= saved["+ sharding, %"]
    assert saved["+ sharding, %"] == pytest.approx(proof["saved, %"])
    for row in tables["Energy within a multiple of the least time"]:
        assert row["joint, MJ"] <= row["uniform, MJ"]
        assert row["joint, MJ"] <= row["plan first, MJ"]


def test_uneven_pipelines_are_written_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = "<!-- begin: {0} -->\nold\n<!-- end: {0} -->\n"
    page.write_text(marks.format("study") + marks.format("proofs"), encoding="utf-8")
    outcome = ran("uneven.py", "--quick", "--only", "study", "--write", str(page))
    assert outcome.returncode == 0, outcome.stderr
    written = page.read_text(encoding="utf-8")
    assert written.count("| layers | p |") == 2
    assert written.endswith(marks.format("proofs"))


def test_calibrating_with_some_runs_predicts_the_others() -> None:
    outcome = ran("calibration.py", "--sets", "simumax", "--counts", "3", "--draws", "2")
    assert outcome.returncode == 0, outcome.stderr
    *_, shipped, after = outcome.stdout.splitlines()[-1].strip("| ").split(" | ")
    assert float(after.removesuffix(" %")) < float(shipped.removesuffix(" %"))


def test_fronts_with_and_without_bounds_are_compared() -> None:
    outcome = ran("gpt3_space.py", "--quick", "--exhaustive", "--json")
    checked(outcome)
    tables = json.loads(outcome.stdout)["tables"]
    (row,) = (row for table in tables for row in table["rows"] if "fronts equal" in row)
    assert row["fronts equal"] is True
    assert row["candidates costed"] > 1_000_000


def test_calculon_comparison_runs(tmp_path: Path) -> None:
    outcome = ran("peers.py", "--quick", "--calculon", str(stand_in(tmp_path)), "--json")
    checked(outcome)
    tools = {row["tool"] for row in json.loads(outcome.stdout)["tables"][0]["rows"]}
    assert tools == {"calculon", "planner"}


def test_what_cannot_be_measured_is_refused_before_anything_is(tmp_path: Path) -> None:
    """Each with its exit code and its words; nothing on standard output, and no file is written."""
    page = tmp_path / "page.md"
    page.write_text("no marks", encoding="utf-8")
    calculon = stand_in(tmp_path / "calculon", extra=1)
    refusals: list[tuple[tuple[str, ...], int, str]] = [
        (("commands.py", "nothing"), 2, "unknown command 'nothing'; allowed: unit, solve, uniform"),
        (("commands.py", "--against", "nowhere"), 2,
         "--against nowhere: is no checkout of planner"),
        (("uneven.py", "--quick", "--write", str(page)), 1,
         "has no region study; nothing was timed"),
        (("peers.py", "--quick", "--calculon", str(calculon)), 1,
         "counts other executions; nothing was timed"),
        (("peers.py",), 2, "error: .*calculon"),
        (("peers.py", "--calculon", "nowhere"), 2, "error: .*calculon"),
        (("throughput.py", "nothing"), 2, "unknown job 'nothing'; allowed: llama2-13b"),
        (("calculon_plans.py",), 2, "error: .*calculon"),
        (("calculon_plans.py", "--calculon", str(calculon), "--write", str(page)), 1,
         "has no region plans; nothing was timed"),
        (("report.py", "--write", str(page)), 1, "has no region throughput; nothing was timed"),
        (("side_by_side.py", "--lowtime", "--write", str(page)), 1,
         "has no region lowtime; nothing was timed"),
    ]  # fmt: skip
    said = ran_together(*(line for line, _, _ in refusals))
    for (line, code, words), one in zip(refusals, said, strict=True):
        assert (one.returncode, one.stdout) == (code, ""), (line, one)
        assert re.search(words, one.stderr), (line, one.stderr)
        assert "Traceback" not in one.stderr, line
    assert page.read_text(encoding="utf-8") == "no marks"


def test_the_page_shows_commands_that_exist(helps: dict[str, tuple[int, str]]) -> None:
    names = ("performance", "performance/growth", "peers")
    pages = [BENCHMARKS.parent / "docs" / f"{name}.md" for name in names]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    shown = re.findall(r"^python benchmarks/(\S+\.py)(.*)$", text, re.MULTILINE)
    assert len(shown) >= 6
    for name, arguments in shown:
        known = helps[name][1]
        assert set(re.findall(r"--[a-z-]+", arguments)) <= set(re.findall(r"--[a-z-]+", known))
