"""A plan as the settings of Acme's trainer."""

import json

from planner.frameworks.writing import Export, Launch, TextFile
from planner.frameworks.writing.clocks import lost_clock

SETTINGS = ("dp", "fsdp", "tp", "micro_batch", "sharding", "sequence_parallel", "recompute")


def export(launch: Launch) -> Export:
    """One JSON file, and the command that takes it."""
    plan = launch.plan
    settings = {
        "model": launch.model.name,
        "seq_len": launch.seq_len,
        "global_batch": launch.global_batch,
        **{name: getattr(plan, name) for name in SETTINGS},
    }
    return Export(
        target="acme",
        version=launch.version,
        framework_version="acme 1.0",
        files=(TextFile(name="acme.json", text=json.dumps(settings, indent=2) + "\n"),),
        command=f"torchrun --nproc-per-node {launch.node_chips} -m acme acme.json",
        lossy=lost_clock(launch),
    )
