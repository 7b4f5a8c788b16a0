"""torchrun: one script, typed on every host with the list of all hosts."""

from __future__ import annotations

from planner.frameworks.framework import Target
from planner.frameworks.writing.export import TextFile
from planner.frameworks.writing.launchers.devices import TPU, Device
from planner.frameworks.writing.launchers.launcher import Job, Launched, Launcher
from planner.frameworks.writing.launchers.start import ALONE, levels_text, start_text

SCRIPT = "launch.sh"
HOSTFILE = "HOSTFILE"
_WHICH = """\
# A host in each line of {hostfile}, the first words of them in the order of ranks.
HOSTFILE="${{1:?is {hostfile}, the list of hosts}}"
mapfile -t hosts < <(awk '$1 != "" && $1 !~ /^#/ {{print $1}}' "$HOSTFILE")
if (( ${{#hosts[@]}} != {nodes} )); then
    echo "{script}: $HOSTFILE lists ${{#hosts[@]}} hosts; the plan is for {nodes}" >&2
    exit 2
fi
own=" $(uname -n) $(hostname -s 2> /dev/null || true) $(hostname -I 2> /dev/null || true) "
for at in "${{!hosts[@]}}"; do
    if [[ "$own" == *" ${{hosts[at]}} "* ]]; then NODE_RANK=${{NODE_RANK:-$at}}; fi
done
: "${{NODE_RANK:?is missing: $HOSTFILE lacks this host,$own}}"
MASTER_ADDR=${{hosts[0]}}"""


def refuses(target: Target, device: Device) -> str:
    """One process a host is nothing that torchrun has a part in."""
    if target.processes == "hosts":
        other = "kubernetes" if device == TPU else "slurm"
        return f"{target.title} has one process a host, without torchrun; --launcher {other}"
    return ""


def write(job: Job) -> Launched:
    """`launch.sh`."""
    nodes = job.launch.nodes
    several = nodes > 1
    command = f"bash {SCRIPT} {HOSTFILE}" if several else f"bash {SCRIPT}"
    which = [_WHICH.format(hostfile=HOSTFILE, nodes=nodes, script=SCRIPT)] if several else ALONE
    usage = (f"On every host: {command}" if several else command, levels_text(job.launch))
    return Launched(
        files=(TextFile(name=SCRIPT, text=start_text(job, which, usage)),),
        command=command,
        environment=job.placeholders,
    )


TORCHRUN = Launcher(
    name="torchrun",
    title="torchrun",
    refuses=refuses,
    write=write,
    again="typed a second time, the job begins",
)
