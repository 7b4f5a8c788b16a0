"""A schedule of another package, installed beside the planner, is solved and costed by its name."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.cases import each

OUTSIDE = Path(__file__).parents[1] / "outside" / "schedule"
ASK = """
import json
from dataclasses import replace
import planner
from planner.frameworks.profiles import FRAMEWORKS
own = FRAMEWORKS["megatron"]
late = replace(own, schedules=(*own.schedules, "late-1f1b"))
FRAMEWORKS._own = {**FRAMEWORKS._own, "megatron": late}
asked = dict(model="llama2-7b", chips=16, framework="megatron")
found = {}
for schedule in ("1f1b", "late-1f1b"):
    only = {"pp": ("2",), "interleave": ("1",), "schedule": (schedule,)}
    fixed = planner.solve(**asked, fix=only)
    other = planner.evaluate(replace(fixed.best.plan, schedule="1f1b"), **asked)
    best = fixed.best
    found[schedule] = [best.plan.schedule, best.step_time_s, fixed.status, other.result.step_time_s]
free = planner.solve(**asked)
found["free"] = free.best.plan.schedule
print(json.dumps(found))
"""


def installed(where: Path) -> dict[str, str]:
    """The environment of a process that has the package; no network is needed to copy it."""
    shutil.copytree(OUTSIDE, where, dirs_exist_ok=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(where), *sys.path])}


def test_it_is_solved_and_costed(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ASK], env=installed(tmp_path), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    late, usual = found["late-1f1b"], found["1f1b"]
    assert late[0] == "late-1f1b"
    assert late[2] == usual[2]
    # Plans differ in their schedule alone, so that the barrier is what one more step costs.
    assert late[1] > late[3] + 0.5 - 1e-9
    assert late[1] >= usual[1]
    assert found["free"] != "late-1f1b"


@each("name", ["late-1f1b", "later-1f1b"])
def test_a_plan_file_may_name_it(name: str, tmp_path: Path) -> None:
    env = installed(tmp_path / "packages")
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema_version: 1\n"
        "job: {model: llama2-7b, hardware: dgx-h100-ndr, batch_tokens: 131072}\n"
        f"plan: {{mesh: {{dp: 4, tp: 2, pp: 2}}, schedule: {name}, sharding: zero1}}\n"
    )
    command = [sys.executable, "-m", "planner", "evaluate", str(plan)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if name == "late-1f1b":
        assert run.returncode == 0, run.stderr
        assert "late-1f1b" in run.stdout
    else:
        assert run.returncode == 2
        assert "not one of" in run.stderr
        assert "did you mean 'late-1f1b'" in run.stderr


def test_a_package_that_does_not_load_is_one_line(tmp_path: Path) -> None:
    env = installed(tmp_path)
    (tmp_path / "late_pipelines.py").write_text("raise RuntimeError('no such device')\n")
    command = [sys.executable, "-m", "planner", "solve", "--model", "llama2-7b", "--chips", "16",
               "--fix", "schedule=late-1f1b"]  # fmt: skip
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "RuntimeError: no such device" in run.stderr
