# planner 0.1.0: gpt3-125m, 8 sequences of 2048 tokens, 1 chips of dgx-h100-ndr, one chip, micro-batch 4, ddp, recompute none
import math
import sys

import jax
from jax.experimental import mesh_utils
from jax.sharding import PartitionSpec as P

# 1 slices of 1 chips; axes outermost first
NAMES = ('data',)
SIZES = (1,)
INSIDE = (1,)  # a slice
ACROSS = (1,)  # slices
PROCESS_IS_SLICE = True
SEQ_LEN = 2048
MICRO_BATCHES = 2
STAGES, CHUNKS_PER_STAGE, SCHEDULE = 1, 1, '1f1b'
OFFLOADED = ()  # kept on the host: sharding(..., host=True)
POLICY = jax.checkpoint_policies.everything_saveable
WEIGHTS = {
    'embedding': ((50257, 768), P(None, None)),
    'positions': ((2048, 768), P(None, None)),
    'layers.attention_norm': ((1, 1, 12, 768), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 12, 768), P(None, None, None, None)),
    'layers.query': ((1, 1, 12, 768, 12, 64), P(None, None, None, None, None, None)),
    'layers.key': ((1, 1, 12, 768, 12, 64), P(None, None, None, None, None, None)),
    'layers.value': ((1, 1, 12, 768, 12, 64), P(None, None, None, None, None, None)),
    'layers.output': ((1, 1, 12, 12, 64, 768), P(None, None, None, None, None, None)),
    'layers.mlp_up': ((1, 1, 12, 768, 3072), P(None, None, None, None, None)),
    'layers.mlp_down': ((1, 1, 12, 3072, 768), P(None, None, None, None, None)),
    'norm': ((768,), P(None)),
}
OPTIMIZER = {
    'embedding': ((50257, 768), P(None, None)),
    'positions': ((2048, 768), P(None, None)),
    'layers.attention_norm': ((1, 1, 12, 768), P(None, None, None, None)),
    'layers.mlp_norm': ((1, 1, 12, 768), P(None, None, None, None)),
    'layers.query': ((1, 1, 12, 768, 12, 64), P(None, None, None, None, None, None)),
    'layers.key': ((1, 1, 12, 768, 12, 64), P(None, None, None, None, None, None)),
    'layers.value': ((1, 1, 12, 768, 12, 64), P(None, None, None, None, None, None)),
    'layers.output': ((1, 1, 12, 12, 64, 768), P(None, None, None, None, None, None)),
    'layers.mlp_up': ((1, 1, 12, 768, 3072), P(None, None, None, None, None)),
    'layers.mlp_down': ((1, 1, 12, 3072, 768), P(None, None, None, None, None)),
    'norm': ((768,), P(None)),
}
ACTIVATIONS = {
    'tokens': ((4, 2048), P(None, None)),
    'between_blocks': ((4, 2048, 768), P(None, None, None)),
    'heads': ((4, 2048, 12, 64), P(None, None, None, None)),
    'logits': ((4, 2048, 50257), P(None, None, None)),
    'mlp': ((4, 2048, 3072), P(None, None, None)),
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
