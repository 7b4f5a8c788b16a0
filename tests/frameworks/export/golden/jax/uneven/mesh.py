# planner 0.1.0: llama2-13b, 256 sequences of 4096 tokens, 128 chips of dgx-a100-80-hdr, dp 16, tp 2, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 9,11*2,9, recompute none
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 16 slices of 8 chips; axes outermost first
NAMES = ('stage', 'data', 'tensor')
SIZES = (4, 16, 2)
INSIDE = (1, 4, 2)  # a slice
ACROSS = (4, 4, 1)  # slices
PROCESS_IS_SLICE = True
SEQ_LEN = 4096
MICRO_BATCHES = 16
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 4, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.everything_saveable
WEIGHTS = {
    'embedding': ((32000, 5120), P('tensor', None)),
    'layers.attention_norm': ((1, 4, 10, 5120), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((1, 4, 10, 5120), P(None, 'stage', None, None)),
    'layers.query': ((1, 4, 10, 5120, 40, 128), P(None, 'stage', None, None, 'tensor', None)),
    'layers.key': ((1, 4, 10, 5120, 40, 128), P(None, 'stage', None, None, 'tensor', None)),
    'layers.value': ((1, 4, 10, 5120, 40, 128), P(None, 'stage', None, None, 'tensor', None)),
    'layers.output': ((1, 4, 10, 40, 128, 5120), P(None, 'stage', None, 'tensor', None, None)),
    'layers.mlp_up': ((1, 4, 10, 5120, 13824), P(None, 'stage', None, None, 'tensor')),
    'layers.mlp_gate': ((1, 4, 10, 5120, 13824), P(None, 'stage', None, None, 'tensor')),
    'layers.mlp_down': ((1, 4, 10, 13824, 5120), P(None, 'stage', None, 'tensor', None)),
    'norm': ((5120,), P(None)),
    'head': ((5120, 32000), P(None, 'tensor')),
}
OPTIMIZER = {
    'embedding': ((32000, 5120), P('tensor', 'data')),
    'layers.attention_norm': ((1, 4, 10, 5120), P(None, 'stage', None, None)),
    'layers.mlp_norm': ((1, 4, 10, 5120), P(None, 'stage', None, None)),
    'layers.query': ((1, 4, 10, 5120, 40, 128), P(None, 'stage', None, 'data', 'tensor', None)),
    'layers.key': ((1, 4, 10, 5120, 40, 128), P(None, 'stage', None, 'data', 'tensor', None)),
    'layers.value': ((1, 4, 10, 5120, 40, 128), P(None, 'stage', None, 'data', 'tensor', None)),
    'layers.output': ((1, 4, 10, 40, 128, 5120), P(None, 'stage', None, 'tensor', None, 'data')),
    'layers.mlp_up': ((1, 4, 10, 5120, 13824), P(None, 'stage', None, 'data', 'tensor')),
    'layers.mlp_gate': ((1, 4, 10, 5120, 13824), P(None, 'stage', None, 'data', 'tensor')),
    'layers.mlp_down': ((1, 4, 10, 13824, 5120), P(None, 'stage', None, 'tensor', 'data')),
    'norm': ((5120,), P(None)),
    'head': ((5120, 32000), P('data', 'tensor')),
}
ACTIVATIONS = {
    'tokens': ((16, 4096), P('data', None)),
    'between_blocks': ((16, 4096, 5120), P('data', 'tensor', None)),
    'heads': ((16, 4096, 40, 128), P('data', None, 'tensor', None)),
    'logits': ((16, 4096, 32000), P('data', None, 'tensor')),
    'mlp': ((16, 4096, 13824), P('data', None, 'tensor')),
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
