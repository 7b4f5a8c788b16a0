"""A job that Slurm runs: four hosts on this machine, with a stub in the place of torchrun.

It needs root, Debian's slurm-wlm and munge (slurmctld, slurmd, munged on the PATH), and ends the
daemons that it started.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from frameworks.export.cases import CASES
from frameworks.launchers.stubs import put

from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan

DAEMONS = ("slurmctld", "slurmd", "munged", "sbatch")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not all(map(shutil.which, DAEMONS)) or os.getuid() != 0, reason="no Slurm, or not root"
    ),
]
CONFIGURATION = """ClusterName=mini
SlurmctldHost=localhost
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmctldPort=16817
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
TopologyPlugin=topology/tree
GresTypes=gpu
MpiDefault=none
NodeName=h[0-3] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[17001-17004] CPUs=1 Gres=gpu:8
PartitionName=all Nodes=ALL Default=YES State=UP
"""
TOPOLOGY = """SwitchName=leaf0 Nodes=h[1,3]
SwitchName=leaf1 Nodes=h[0,2]
SwitchName=spine Switches=leaf[0-1]
"""
STUB = """#!/bin/bash
if [[ "$1" == --help ]]; then exit; fi
echo "$SLURMD_NODENAME $NODE_RANK $MASTER_ADDR $NNODES" >> "$FOUND"
if [[ "$NODE_RANK" == "${FAILS:-none}" ]]; then exit 3; fi
if [[ -n "${FAILS:-}" ]]; then sleep 600; fi
"""


def start(*words: str, folder: Path) -> None:
    subprocess.run(words, check=True, env=os.environ | {"SLURM_CONF": str(folder / "slurm.conf")})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of a running Slurm."""
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", *(f"spool-h{at}" for at in range(4))):
        (folder / name).mkdir()
    for at in range(8):  # what Slurm takes for a device
        os.mknod(folder / f"gpu{at}", 0o20666, os.makedev(1, 3))
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder))
    (folder / "topology.conf").write_text(TOPOLOGY)
    (folder / "gres.conf").write_text(f"NodeName=h[0-3] Name=gpu File={folder}/gpu[0-7]\n")
    if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode:
        Path("/run/munge").mkdir(exist_ok=True)
        shutil.chown("/run/munge", "munge")
        subprocess.run(["runuser", "-u", "munge", "--", "munged"], check=True)
    start("slurmctld", "-c", folder=folder)
    for at in range(4):
        start("slurmd", "-c", "-N", f"h{at}", folder=folder)
    yield folder
    for pid in folder.glob("*.pid"):
        os.kill(int(pid.read_text()), 15)


def submitted(cluster: Path, folder: Path, *options: str, **variables: str) -> str:
    """What sbatch says of the job of the plan, on whose two switches it may be."""
    case = replace(CASES["dense-sharded"], framework="megatron")
    case = replace(case, plan=replace(case.plan, dp=32, fsdp=1, sharding="zero1", micro_batch=1))
    one = export_plan(case.cost(), case.plan, TARGETS["megatron"], launcher="slurm")
    put(one, folder / "job")
    (folder / "torchrun").write_text(STUB)
    (folder / "torchrun").chmod(0o755)
    own = {"SLURM_CONF": str(cluster / "slurm.conf"), "MEGATRON_HOME": "/m"}
    own |= {"PATH": f"{folder}:{os.environ['PATH']}", "FOUND": str(folder / "found")}
    for _ in range(2000):  # until the hosts have registered
        done = subprocess.run(
            ["sbatch", "--switches=2", *options, "job.sbatch"],
            cwd=folder / "job", env=own | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0 or "--wait" in options:
            break
    return done.stdout + done.stderr


def test_slurm_takes_the_script(cluster: Path, tmp_path: Path) -> None:
    said = submitted(cluster, tmp_path, "--test-only")
    assert "on nodes h[0-3]" in said, said


def test_hosts_are_numbered_by_their_switches(cluster: Path, tmp_path: Path) -> None:
    said = submitted(cluster, tmp_path, "--wait")
    assert "Submitted batch job" in said, said
    found = sorted((tmp_path / "found").read_text().splitlines(), key=lambda line: line.split()[1])
    assert found == ["h1 0 h1 4", "h3 1 h1 4", "h0 2 h1 4", "h2 3 h1 4"]


def test_the_first_failure_ends_the_job(cluster: Path, tmp_path: Path) -> None:
    submitted(cluster, tmp_path, "--wait", FAILS="2")
    [log] = (tmp_path / "job").glob("llama3-8b-32-*.log")
    assert "Exited with exit code 3" in log.read_text()
    assert "Terminating StepId" in log.read_text()
