"""Stands in for GPUs in processes that `accelerate launch` starts: gloo, and CPUs as devices.

Accelerate shards on GPUs only, and PyTorch divides sequences for the kernels of GPUs only.
"""

import os
from collections.abc import Callable
from typing import Any

ATTENTION = "torch.distributed.tensor.experimental._context_parallel._attention"


def many_processes(state: Any) -> None:
    """Accelerate takes several processes with gloo for those of GPUs."""
    if "LOCAL_RANK" in os.environ:
        found = ("gloo", state.DistributedType.MULTI_GPU)
        state.PartialState._prepare_backend = lambda *_, **__: found


def ring_attention(attention: Any) -> None:
    """PyTorch's ring of attention also for the kernel of CPUs."""
    import torch  # noqa: PLC0415 (loaded by then)
    from torch.distributed.tensor import DTensor, Shard  # noqa: PLC0415 (as above)

    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

    def ring(kernel: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
        mesh = args[0].device_mesh
        names = [argument.name for argument in kernel._schema.arguments]
        given = dict(zip(names, args, strict=False)) | kwargs
        own = {
            name: value.to_local() if isinstance(value, DTensor) else value
            for name, value in given.items()
        }
        if kernel is forward:
            found = attention._templated_ring_attention(mesh.get_group(), 2, kernel, **own)
        else:
            found = attention._templated_ring_attention_backward(
                mesh.get_group(), 2, kernel, grad_out_name="grad_out", **own
            )
        return tuple(DTensor.from_local(one, mesh, [Shard(2)], run_check=False) for one in found)

    attention.custom_ops |= {forward: ring, backward: ring}


CHANGES: dict[str, Callable[[Any], None]] = {
    "accelerate.state": many_processes,
    ATTENTION: ring_attention,
}
