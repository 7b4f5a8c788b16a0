"""What PyTorch FSDP under Accelerate keeps in memory and offers."""

from __future__ import annotations

from planner.assumptions.software import FrameworkProfile

FSDP = FrameworkProfile(
    name="fsdp",
    era="torch-fsdp",
    adapters_era="torch-eager",  # PEFT, TRL and Axolotl do not compile; published runs neither
    adapter_identity=True,  # PEFT and torchtune; see planner/cost/kernels/adapters.py
    weight_bytes=2.0,
    gradient_bytes=2.0,
    optimizer_bytes=4.0,
    master_bytes=0.0,
    logits_bytes=10.0,
    stops_early=True,  # accelerate 1.15.0, accelerator.py: `CheckpointImpl.NO_REENTRANT`
    vocab_parallel_loss=False,
    shardings=("ddp", "zero3"),
    lacks=("pp", "ep"),
)
