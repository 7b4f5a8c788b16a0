"""How torchrun starts the processes of a launch, so that ranks lie where the plan puts them.

Ranks are static: `--node-rank` says which host this is. The elastic rendezvous (`--rdzv-backend
c10d`) would number hosts by their names as they arrive (PyTorch 2.15,
torch/distributed/elastic/rendezvous/dynamic_rendezvous.py: ranks of sorted nodes).
"""

from __future__ import annotations

from planner.frameworks.rules.alike import CUDA_VENDORS
from planner.frameworks.writing.hosts import hosts_of
from planner.frameworks.writing.launch import Launch

FIRST_PORT = "${MASTER_PORT:-29500}"
"""The port of the first host, as a shell reads it."""
FIRST_HOST = f"${{MASTER_ADDR:-localhost}}:{FIRST_PORT}"
"""Where the first host is reached, as a shell reads it."""


def static_ranks(launch: Launch) -> tuple[str, ...]:
    """Options of torchrun; Slurm and the user may say which host this is."""
    return (
        f'--nnodes "${{NNODES:-{launch.nodes}}}"',
        f"--nproc-per-node {launch.node_chips}",
        '--node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"',
        '--master-addr "${MASTER_ADDR:-localhost}"',
        f'--master-port "{FIRST_PORT}"',
    )


def torchrun(launch: Launch) -> list[str]:
    """Torchrun with its options, as it is called on every host; one host needs no address."""
    if launch.nodes == 1:
        return ["torchrun", "--standalone", f"--nproc-per-node {launch.node_chips}"]
    return ["torchrun", *static_ranks(launch)]


def beside_gpus(launch: Launch, program: str, words: str) -> tuple[str, ...]:
    """Lines of bash that have processes keep to the cores beside their GPUs.

    Args:
        launch: The plan.
        program: What is called, which torchrun reads the options of.
        words: Its arguments, `$@`, with `--numa-binding node` among them.
    """
    if launch.cost.chip.vendor not in CUDA_VENDORS:
        return ()
    return (
        "# Processes keep to the cores beside their GPUs where torchrun has that option, and with "
        "numactl.",
        'if command -v numactl > /dev/null && [[ "$(torchrun --help 2>&1)" == *--numa-binding* ]]; '
        "then",
        f"    {program}() {{ command {program} {words}; }}",
        f"    export -f {program}",
        "fi",
    )


def rank_comments(launch: Launch) -> tuple[str, ...]:
    """Lines on the order of hosts, and on which hosts of racks they are."""
    order = "Ranks count through the hosts in order, as the placement of the plan does."
    return (order, *hosts_of(launch))


def host_variables(launch: Launch) -> tuple[tuple[str, str], ...]:
    """Environment variables that say which host is which; none for one host."""
    if launch.nodes == 1:
        return ()
    return (("MASTER_ADDR", "HOST_OF_THE_FIRST_NODE"), ("NODE_RANK", "RANK_OF_THIS_NODE"))
