"""Jobs of Kubernetes: their names, when they end, what a second start does, and their data."""

import re
import subprocess
from dataclasses import replace

from support.cases import each

from frameworks.launchers.test_launchers import JOBS, MANY, ON_GPUS, case_for, documents, exported
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.frameworks.writing.launchers.names import LONGEST


def test_jobs_that_differ_have_names_that_differ() -> None:
    """Of one model on as many chips: by target, kind, and any line of their files."""
    found: dict[str, object] = {}
    for target in ON_GPUS:
        case, plain = case_for(target, MANY), exported(target, "kubernetes")
        other = replace(case.plan, recompute="full" if case.plan.recompute != "full" else "none")
        changed = export_plan(
            case.cost(), other, TARGETS[target], allow_lossy=True, launcher="kubernetes"
        )
        for one in (plain, changed):
            config, job = documents(one)
            name = job["metadata"]["name"]
            assert config["immutable"]
            assert f"MASTER_ADDR={name}-hosts-0-0.{name}\n" in config["data"]["start.sh"]
            assert f"-{case.cost().job.learns}-{target.removeprefix('megatron-')}-" in name
            assert len(name) <= LONGEST
            assert name not in found
            found[name] = one


@each("target", ON_GPUS)
def test_the_end_and_a_second_start_are_said(target: str) -> None:
    for version in TARGETS[target].versions:
        one = exported(target, "kubernetes", MANY, version)
        said = {lost.field: lost.reason for lost in one.lossy}
        assert "up to 3 times (maxRestarts), at step 0: " in said["restart"]
        steps, setting = re.match(
            r"the run ends after ([\d,]+) steps.*: (.+)", said["steps"]
        ).groups()
        *_, name = setting.split(" in ")[0].rpartition(".")
        texts = "".join(file.text for file in one.files)
        if "default" not in said["steps"]:
            assert re.search(rf"{name}[ \"':=]+{steps.replace(',', '')}\b", texts), said["steps"]


@each("target", ["accelerate", "megatron-bridge"])
def test_texts_of_adapters_may_be_named_in_the_job(target: str) -> None:
    case = replace(
        JOBS[MANY], kind="lora", framework="fsdp" if target == "accelerate" else "megatron"
    )
    one = export_plan(
        case.cost(), case.plan, TARGETS[target], allow_lossy=True, launcher="kubernetes"
    )
    config, job = documents(one)
    [replicated] = job["spec"]["replicatedJobs"]
    [container] = replicated["template"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "DATA", "value": ""} in container["env"]
    line = '[[ -n "${DATA:-}" ]] || unset DATA'
    assert line in config["data"]["start.sh"].splitlines()
    for given in ("", "x"):
        done = subprocess.run(
            ["bash", "-c", f"set -eu; {line}; env"], env={"DATA": given, "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ("DATA=x" in done.stdout) == bool(given)
        assert "DATA=\n" not in done.stdout
