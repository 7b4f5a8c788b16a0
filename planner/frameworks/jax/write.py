"""Plans for JAX: a Python file with the mesh, the partition of every array, and micro-batches.

Functions: jax 0.10.2, jax.make_mesh, jax.experimental.mesh_utils.create_hybrid_device_mesh,
jax.sharding.AbstractMesh, jax.checkpoint_policies. It is no model: it says where the arrays of one
are, in names and shapes that `planner.frameworks.jax.specs` explains.
"""

from __future__ import annotations

from planner.frameworks.jax.axes import MeshAxis, mesh_axes
from planner.frameworks.jax.slices import SliceMesh, slice_mesh
from planner.frameworks.jax.specs import Dimension, arrays
from planner.frameworks.writing.chosen import common_recompute
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import made_by

SOURCES = {"0.10": "0.10.2", "0.9": "0.9.2"}
"""Version to the release whose functions it calls."""
FILE = "mesh.py"
_POLICIES = {
    "none": "everything_saveable",
    "selective": "dots_with_no_batch_dims_saveable",
    "full": "nothing_saveable",
}
_BODY = '''

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
'''


def export(launch: Launch) -> Export:
    """The plan as a Python file."""
    axes, mesh = mesh_axes(launch), slice_mesh(launch.cost, launch.plan)
    found = arrays(launch, axes)
    lines = [
        f"# {made_by(launch)}",
        "import math\nimport sys\n",
        "import jax\nfrom jax.experimental import mesh_utils",
        "from jax.sharding import PartitionSpec as P\n",
        *_constants(launch, axes, mesh),
        *_table("WEIGHTS", found.weights),
        *_table("OPTIMIZER", found.optimizer),
        *_table("ACTIVATIONS", found.activations),
    ]
    return Export(
        target="jax",
        version=launch.version,
        framework_version=launch.read_from(SOURCES),
        files=(TextFile(name=FILE, text="\n".join(lines) + _BODY),),
        command=f"python3 {FILE}",
        lossy=tuple(_lossy(launch)),
    )


def _constants(launch: Launch, axes: tuple[MeshAxis, ...], mesh: SliceMesh) -> list[str]:
    plan, listed = launch.plan, axes or (_alone(),)
    granule = launch.cost.chip.vendor != "Google" and mesh.chips == launch.node_chips
    policy = _POLICIES[common_recompute(launch)]
    return [
        f"# {mesh.slices} slices of {mesh.chips} chips; axes outermost first",
        f"NAMES = {tuple(one.name for one in listed)!r}",
        f"SIZES = {tuple(one.size for one in listed)!r}",
        f"INSIDE = {tuple(one.inside for one in listed)!r}  # a slice",
        f"ACROSS = {tuple(one.across for one in listed)!r}  # slices",
        f"PROCESS_IS_SLICE = {granule!r}",
        f"SEQ_LEN = {launch.seq_len}",
        f"MICRO_BATCHES = {launch.micro_batches}",
        f"STAGES, CHUNKS_PER_STAGE, SCHEDULE = {plan.pp}, {plan.interleave}, {plan.schedule!r}",
        f"OFFLOADED = {plan.offload!r}  # kept on the host: sharding(..., host=True)",
        f"POLICY = jax.checkpoint_policies.{policy}",
    ]


def _alone() -> MeshAxis:
    """The axis of a mesh of one device."""
    return MeshAxis(name="data", axis="dp", expert=False, inside=1, across=1)


def _table(name: str, found: dict[str, tuple[Dimension, ...]]) -> list[str]:
    lines = [f"{name} = {{"]
    for key, dims in found.items():
        shape = tuple(size for size, _ in dims)
        spec = ", ".join(_entry(axes) for _, axes in dims)
        lines.append(f"    {key!r}: ({shape!r}, P({spec})),")
    return [*lines, "}"]


def _entry(axes: tuple[str, ...]) -> str:
    """One dimension of a PartitionSpec."""
    if not axes:
        return "None"
    return repr(axes[0]) if len(axes) == 1 else repr(axes)


def _lossy(launch: Launch) -> list[Lost]:
    plan, lost = launch.plan, list(lost_clock(launch))
    if sum(size > 1 for _, size in plan.ranks) > 1:
        reason = "JAX lays the axes of a slice on its links itself (jax.make_mesh)"
        lost.append(Lost("placement", reason))
    if plan.pp > 1:
        reason = f"the loop of the schedule {plan.schedule} is yours: the file places its arrays"
        lost.append(Lost("schedule", reason))
    if plan.cp > 1:
        lost.append(Lost("cp_mode", f"the {plan.cp_mode} exchange is that of your attention"))
    if plan.offload:
        reason = "put what OFFLOADED names on the host by sharding(..., host=True)"
        lost.append(Lost("offload", reason))
    if launch.model.moe is not None and len(set(launch.model.layer_kinds)) > 1:
        reason = "every layer is listed with a dense MLP and with experts; drop what it has not"
        lost.append(Lost("model", reason))
    if launch.cost.job.precision != "bf16":
        lost.append(Lost("precision", f"{launch.cost.job.precision} is set where arrays are made"))
    return lost
