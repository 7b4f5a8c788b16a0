# planner 0.1.0: llama3-70b, 1024 sequences of 8192 tokens, 512 chips of dgx-h100-ndr, dp 16, tp 8, pp 4, micro-batch 1, zero1, interleaved x 5, split even, recompute none
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 64 slices of 8 chips; axes outermost first
NAMES = ('stage', 'data', 'tensor')
SIZES = (4, 16, 8)
INSIDE = (1, 1, 8)  # a slice
ACROSS = (4, 16, 1)  # slices
PROCESS_IS_SLICE = True
SEQ_LEN = 8192
MICRO_BATCHES = 64
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 4, 5, 'interleaved'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.everything_saveable
WEIGHTS = {
    'embedding': ((128256, 8192), P('tensor', None)),
    'layers.attention_norm': ((5, 4, 4, 8192), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((5, 4, 4, 8192), P(None, 'stage', None, None)),
    'layers.query': ((5, 4, 4, 8192, 64, 128), P(None, 'stage', None, None, 'tensor', None)),
    'layers.key': ((5, 4, 4, 8192, 8, 128), P(None, 'stage', None, None, 'tensor', None)),
    'layers.value': ((5, 4, 4, 8192, 8, 128), P(None, 'stage', None, None, 'tensor', None)),
    'layers.output': ((5, 4, 4, 64, 128, 8192), P(None, 'stage', None, 'tensor', None, None)),
    'layers.mlp_up': ((5, 4, 4, 8192, 28672), P(None, 'stage', None, None, 'tensor')),
    'layers.mlp_gate': ((5, 4, 4, 8192, 28672), P(None, 'stage', None, None, 'tensor')),
    'layers.mlp_down': ((5, 4, 4, 28672, 8192), P(None, 'stage', None, 'tensor', None)),
    'norm': ((8192,), P(None)),
    'head': ((8192, 128256), P(None, 'tensor')),
}
OPTIMIZER = {
    'embedding': ((128256, 8192), P('tensor', 'data')),
    'layers.attention_norm': ((5, 4, 4, 8192), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((5, 4, 4, 8192), P(None, 'stage', None, None)),
    'layers.query': ((5, 4, 4, 8192, 64, 128), P(None, 'stage', None, 'data', 'tensor', None)),
    'layers.key': ((5, 4, 4, 8192, 8, 128), P(None, 'stage', None, 'data', 'tensor', None)),
    'layers.value': ((5, 4, 4, 8192, 8, 128), P(None, 'stage', None, 'data', 'tensor', None)),
    'layers.output': ((5, 4, 4, 64, 128, 8192), P(None, 'stage', None, 'tensor', None, 'data')),
    'layers.mlp_up': ((5, 4, 4, 8192, 28672), P(None, 'stage', None, 'data', 'tensor')),
    'layers.mlp_gate': ((5, 4, 4, 8192, 28672), P(None, 'stage', None, 'data', 'tensor')),
    'layers.mlp_down': ((5, 4, 4, 28672, 8192), P(None, 'stage', None, 'tensor', 'data')),
    'norm': ((8192,), P(None)),
    'head': ((8192, 128256), P('data', 'tensor')),
}
ACTIVATIONS = {
    'tokens': ((16, 8192), P('data', None)),
    'between_blocks': ((16, 8192, 8192), P('data', 'tensor', None)),
    'heads': ((16, 8192, 64, 128), P('data', None, 'tensor', None)),
    'logits': ((16, 8192, 128256), P('data', None, 'tensor')),
    'mlp': ((16, 8192, 28672), P('data', None, 'tensor')),
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
