"""Slurm: a batch script, and what each host of it runs.

One task a host starts the processes of its chips, as the plain export does. Hosts are numbered in
the order of their switches, which topology plugins say in SLURM_TOPOLOGY_ADDR, so that ranks that
follow one another are as near as the plan has them. Source: Slurm 26.05.3, sbatch(1) and srun(1);
--container-* are options of NVIDIA/pyxis.
"""

from __future__ import annotations

from planner.frameworks.framework import Target
from planner.frameworks.writing.export import TextFile
from planner.frameworks.writing.hosts import racks_of
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.launchers.devices import TPU, Device
from planner.frameworks.writing.launchers.launcher import Job, Launched, Launcher
from planner.frameworks.writing.launchers.names import job_name
from planner.frameworks.writing.launchers.start import (
    ALONE,
    levels_text,
    needs_text,
    start_text,
)
from planner.frameworks.writing.texts import made_by

SCRIPT = "job.sbatch"
START = "start.sh"
_WAIT_MINUTES = 5
_FOLDER = f"""# The folder of these files, which all hosts see.
PLAN_DIR="${{PLAN_DIR:-${{SLURM_SUBMIT_DIR:?is set by sbatch}}}}"
cd "$PLAN_DIR"
if [[ ! -f {START} ]]; then
    echo "{SCRIPT}: {START} is not in $PLAN_DIR: submit from its folder, or set PLAN_DIR" >&2
    exit 2
fi"""
_CONTAINER = """\
# A container (pyxis) where CONTAINER_IMAGE names one; CONTAINER_MOUNTS adds from:to,... to it.
CONTAINER=()
if [[ -n "${CONTAINER_IMAGE:-}" ]]; then
    CONTAINER=(
        --container-image="$CONTAINER_IMAGE"
        --container-mounts="$PLAN_DIR:$PLAN_DIR${CONTAINER_MOUNTS:+,$CONTAINER_MOUNTS}"
        --container-workdir="$PLAN_DIR"
    )
fi"""
_HOSTS = """\
# Hosts in the order of ranks: those of one switch one after the other. Each says its own.
# shellcheck disable=SC2016
HOSTS=$(
    srun --ntasks={nodes} --ntasks-per-node=1 \\
        bash -c 'echo "${{SLURM_TOPOLOGY_ADDR:-}} $SLURMD_NODENAME"' |
        sort -V | awk '{{printf "%s%s", (NR > 1 ? " " : ""), $NF}}'
)
export HOSTS
echo "hosts: $HOSTS\""""
_RUN = """\
# All cores of a host are those of its task; the first failure ends the job.
srun --ntasks={nodes} --ntasks-per-node=1 --cpus-per-task="${{SLURM_CPUS_ON_NODE:-1}}" \\
    --cpu-bind=none --kill-on-bad-exit=1 "${{CONTAINER[@]}}" bash {start}"""
_WHICH = (
    "# The place of a host in HOSTS is its number.",
    'read -ra hosts <<< "${HOSTS:?is set by job.sbatch}"',
    "NODE_RANK=",
    'for at in "${!hosts[@]}"; do',
    '    if [[ "${hosts[at]}" == "${SLURMD_NODENAME:?is set by srun}" ]]; then NODE_RANK=$at; fi',
    "done",
    ': "${NODE_RANK:?is missing: HOSTS lacks this host}"',
    "MASTER_ADDR=${hosts[0]}",
)


def refuses(target: Target, device: Device) -> str:
    """TPUs are no devices of Slurm."""
    if device == TPU:
        return "Slurm hands out no TPUs: their hosts are those of a slice; --launcher kubernetes"
    return ""


def write(job: Job) -> Launched:
    """`job.sbatch` and `start.sh`."""
    launch = job.launch
    usage = (f"What every host runs: {SCRIPT} starts it.",)
    start = start_text(job, _WHICH if launch.nodes > 1 else ALONE, usage)
    return Launched(
        files=(
            TextFile(name=SCRIPT, text=batch_text(job)),
            TextFile(name=START, text=start),
        ),
        command=f"sbatch {SCRIPT}",
        environment=job.placeholders,
    )


def batch_text(job: Job) -> str:
    """The batch script."""
    launch = job.launch
    head = "\n".join(("#!/bin/bash", *(f"#SBATCH --{line}" for line in options(job))))
    comments = "\n".join(f"# {line}" for line in (made_by(launch), levels_text(launch)))
    parts = (
        head,
        comments,
        "set -euo pipefail",
        needs_text(job),
        _FOLDER,
        _CONTAINER,
        _HOSTS.format(nodes=launch.nodes) if launch.nodes > 1 else "",
        _RUN.format(nodes=launch.nodes, start=START),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def options(job: Job) -> tuple[str, ...]:
    """The options of sbatch."""
    launch = job.launch
    found = [
        f"job-name={job_name(launch)}",
        f"nodes={launch.nodes}",
        "ntasks-per-node=1",
        *([f"gpus-per-node={launch.node_chips}"] if job.device.generic else []),
        "exclusive",
        "mem=0",
        *_near(launch),
        "requeue",
        "open-mode=append",
        "output=%x-%j.log",
    ]
    return tuple(found)


def _near(launch: Launch) -> list[str]:
    """Hosts that the plan has beside one another: of a rack, or below as few switches as it takes.

    Slurm waits for that many switches a few minutes, then takes what there is.
    """
    racks = racks_of(launch)
    if racks is not None:
        return [f"segment={racks.used}"]
    leaf = leaf_hosts(launch)
    return (
        [f"switches={-(-launch.nodes // leaf)}@{_WAIT_MINUTES}"]
        if leaf and launch.nodes > 1
        else []
    )


def leaf_hosts(launch: Launch) -> int:
    """Hosts below one switch of the lowest level between hosts; 0: all, or that is not known."""
    outer = [level for level in launch.cost.cluster.levels if level.kind == "scale-out"]
    chips = outer[0].domain_chips if outer else None
    return chips // launch.node_chips if chips else 0


SLURM = Launcher(
    name="slurm",
    title="Slurm",
    refuses=refuses,
    write=write,
    again="Slurm starts the job again where a host fails (--requeue),",
)
