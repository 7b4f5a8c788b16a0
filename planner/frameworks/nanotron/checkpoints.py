"""What nanotron loads a checkpoint into."""

from planner.frameworks.checkpoints import SHARDS, Checkpoint

NANOTRON_CHECKPOINTS = (
    Checkpoint(
        name="nanotron",
        said="checkpoints.checkpoints_path",
        of=("ddp", "zero1"),
        keeps=("pp", "ep"),
        writers=SHARDS,
        written="nanotron src/nanotron/serialize/optimizer.py, save_optimizer: under ZeRO-1 "
        "each data rank its own states, else data rank 0",
        version="2411b022a7 (2026-04-07)",
        source="nanotron src/nanotron/serialize/optimizer.py lines 160 to 200: shards are merged "
        "over tp and over dp; another pp is only warned about, the states of the optimizer "
        "are not moved; the names of files hold the expert-parallel size",
    ),
)
