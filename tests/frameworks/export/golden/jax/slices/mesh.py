# planner 0.1.0: llama2-70b, 1024 sequences of 4096 tokens, 512 chips of tpu-v5p, fsdp 128, tp 4, micro-batch 1, zero3, recompute full
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 1 slices of 512 chips; axes outermost first
NAMES = ('fsdp', 'tensor')
SIZES = (128, 4)
INSIDE = (128, 4)  # a slice
ACROSS = (1, 1)  # slices
PROCESS_IS_SLICE = False
SEQ_LEN = 4096
MICRO_BATCHES = 8
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 1, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.nothing_saveable
WEIGHTS = {
    'embedding': ((32000, 8192), P('tensor', 'fsdp')),
    'layers.attention_norm': ((1, 1, 80, 8192), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 80, 8192), P(None, None, None, None)),
    'layers.query': ((1, 1, 80, 8192, 64, 128), P(None, None, None, 'fsdp', 'tensor', None)),
    'layers.key': ((1, 1, 80, 8192, 8, 128), P(None, None, None, 'fsdp', 'tensor', None)),
    'layers.value': ((1, 1, 80, 8192, 8, 128), P(None, None, None, 'fsdp', 'tensor', None)),
    'layers.output': ((1, 1, 80, 64, 128, 8192), P(None, None, None, 'tensor', None, 'fsdp')),
    'layers.mlp_up': ((1, 1, 80, 8192, 28672), P(None, None, None, 'fsdp', 'tensor')),
    'layers.mlp_gate': ((1, 1, 80, 8192, 28672), P(None, None, None, 'fsdp', 'tensor')),
    'layers.mlp_down': ((1, 1, 80, 28672, 8192), P(None, None, None, 'tensor', 'fsdp')),
    'norm': ((8192,), P(None)),
    'head': ((8192, 32000), P('fsdp', 'tensor')),
}
OPTIMIZER = {
    'embedding': ((32000, 8192), P('tensor', 'fsdp')),
    'layers.attention_norm': ((1, 1, 80, 8192), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 80, 8192), P(None, None, None, None)),
    'layers.query': ((1, 1, 80, 8192, 64, 128), P(None, None, None, 'fsdp', 'tensor', None)),
    'layers.key': ((1, 1, 80, 8192, 8, 128), P(None, None, None, 'fsdp', 'tensor', None)),
    'layers.value': ((1, 1, 80, 8192, 8, 128), P(None, None, None, 'fsdp', 'tensor', None)),
    'layers.output': ((1, 1, 80, 64, 128, 8192), P(None, None, None, 'tensor', None, 'fsdp')),
    'layers.mlp_up': ((1, 1, 80, 8192, 28672), P(None, None, None, 'fsdp', 'tensor')),
    'layers.mlp_gate': ((1, 1, 80, 8192, 28672), P(None, None, None, 'fsdp', 'tensor')),
    'layers.mlp_down': ((1, 1, 80, 28672, 8192), P(None, None, None, 'tensor', 'fsdp')),
    'norm': ((8192,), P(None)),
    'head': ((8192, 32000), P('fsdp', 'tensor')),
}
ACTIVATIONS = {
    'tokens': ((128, 4096), P('fsdp', None)),
    'between_blocks': ((128, 4096, 8192), P('fsdp', 'tensor', None)),
    'heads': ((128, 4096, 64, 128), P('fsdp', None, 'tensor', None)),
    'logits': ((128, 4096, 32000), P('fsdp', None, 'tensor')),
    'mlp': ((128, 4096, 28672), P('fsdp', None, 'tensor')),
}

def device_mesh():
    """The mesh on the devices of this job."""
    if math.prod(ACROSS) == 1:
        return jax.make_mesh(SIZES, NAMES)
    devices = mesh_utils.create_hybrid_device_mesh(
        INSIDE, ACROSS, process_is_granule=PROCESS_IS_SLICE
    )
    return jax.sharding.Mesh(devices, NAMES)


def abstract_mesh():
    """The mesh without devices, to look at shapes anywhere."""
    return jax.sharding.AbstractMesh(SIZES, NAMES)


def sharding(mesh, spec, host=False):
    """Where an array lies; on the host where a part of the job is offloaded."""
    if host:
        return jax.sharding.NamedSharding(mesh, spec, memory_kind="pinned_host")
    return jax.sharding.NamedSharding(mesh, spec)


def shards(mesh):
    """Name to the shape that one device holds; axes that do not divide it are an error."""
    return {
        f"{kind}.{name}": sharding(mesh, spec).shard_shape(shape)
        for kind, table in (
            ("weights", WEIGHTS), ("optimizer", OPTIMIZER), ("activations", ACTIVATIONS)
        )
        for name, (shape, spec) in table.items()
    }


def accumulated(loss_and_gradients, weights, tokens):
    """Mean of loss and gradients over the micro-batches of a step, tokens (sequences, tokens)."""
    rows = tokens.reshape(MICRO_BATCHES, -1, SEQ_LEN)

    def one(total, micro_batch):
        return jax.tree.map(jax.numpy.add, total, loss_and_gradients(weights, micro_batch)), None

    zeros = jax.tree.map(jax.numpy.zeros_like, jax.eval_shape(loss_and_gradients, weights, rows[0]))
    total, _ = jax.lax.scan(one, zeros, rows)
    return jax.tree.map(lambda value: value / MICRO_BATCHES, total)


def layer_of(function):
    """A layer whose activations are kept or computed again as the plan says."""
    return jax.checkpoint(function, policy=POLICY)


if __name__ == "__main__":
    mesh = abstract_mesh() if "--abstract" in sys.argv else device_mesh()
    print(mesh)
    for name, shape in shards(mesh).items():
        print(name, shape)
