"""What Acme's trainer keeps in memory, and which plans it has words for."""

from planner.assumptions.software import FrameworkProfile

PROFILE = FrameworkProfile(
    name="acme",
    era="torch-fsdp",  # whose kernels it has: how fast they are
    weight_bytes=2.0,  # bf16 beside the optimizer's 32 bits
    gradient_bytes=2.0,
    optimizer_bytes=12.0,
    shardings=("ddp", "zero3"),
    lacks=("pp", "cp", "ep"),
    memory_knowledge="unmeasured",
)
