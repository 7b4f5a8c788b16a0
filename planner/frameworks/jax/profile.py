"""What JAX, and MaxText on it, keep in memory and offer.

MaxText e591f30: layers are the body of one loop (configs/base.yml `scan_layers: true`,
layers/decoders.py `nn.scan`), and no pass of it gathers for the next. A matrix is multiplied in
`dtype` (layers/linears.py, `kernel = jnp.asarray(kernel, self.dtype)`), so its gradient leaves the
product, and is reduced, in 16 bits; what the loop stacks is 32 bits wide, and sharded.
"""

from __future__ import annotations

from planner.assumptions.software import FrameworkProfile

JAX = FrameworkProfile(
    name="jax",
    era="jax",
    weight_bytes=4.0,
    gradient_bytes=4.0,
    optimizer_bytes=8.0,
    master_bytes=0.0,
    logits_bytes=10.0,
    selective="half-matmuls",
    stops_early=True,
    gathered_layers=1.0,
    whole_gradient_bytes=2.0,
    reserve_bytes=0.0,
    headroom_share=1.0,
    memory_knowledge="unmeasured",
    splits=("even",),
    orders=(),
    schedules=("gpipe", "interleaved"),
)
