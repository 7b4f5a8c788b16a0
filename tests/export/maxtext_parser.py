"""Run by a Python that has what MaxText needs: its own parser on YAML files.

Reads a JSON list of {"text", "devices", "slices"} from the standard input and writes, for each,
{"error"} or the settings that MaxText derives; with "counts" the parameters of its model instead.
"""

import contextlib
import json
import math
import pathlib
import sys
import tempfile

DERIVED = (
    "emb_dim", "num_query_heads", "num_kv_heads", "head_dim", "mlp_dim", "moe_mlp_dim",
    "num_decoder_layers", "vocab_size", "num_experts", "num_experts_per_tok",
    "global_batch_size_to_train_on", "num_pipeline_repeats", "remat_policy",
)  # fmt: skip


def read(text, *more):
    from maxtext.configs import pyconfig  # noqa: PLC0415 (a failure is an answer)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "plan.yml")
        path.write_text(text)
        argv = [
            "train", str(path), "run_name=x", "base_output_directory=x",
            "skip_jax_distributed_system=true", *more,
        ]  # fmt: skip
        return pyconfig.initialize_pydantic(argv)


def asked(text, devices, slices, *, counts=False):
    from maxtext.utils import max_utils  # noqa: PLC0415 (a failure is an answer)

    if counts:
        return {"parameters": parameters(read(text, "hardware=cpu", "attention=dot_product"))}
    compiled = ("internal_compile=true", f"internal_compile_num_devices={devices}")
    config = read(text, *compiled, f"num_slices={slices}")
    max_utils.fill_unspecified_mesh_axes(list(config.ici_parallelism), devices // slices, "ICI")
    if slices > 1:
        max_utils.fill_unspecified_mesh_axes(list(config.dcn_parallelism), slices, "DCN")
    return {name: getattr(config, name) for name in DERIVED}


def parameters(config):
    """Of the model that MaxText builds, whose arrays are shapes only."""
    import jax  # noqa: PLC0415 (a failure is an answer)
    from flax import linen  # noqa: PLC0415 (as above)
    from maxtext.models import models  # noqa: PLC0415 (as above)
    from maxtext.utils import maxtext_utils  # noqa: PLC0415 (as above)

    mesh = jax.sharding.Mesh(maxtext_utils.create_device_mesh(config), config.mesh_axes)
    model = models.transformer_as_linen(config, mesh, quant=None, model_mode="train")
    batch = (config.micro_batch_size_to_train_on, config.max_target_length)
    key = jax.random.PRNGKey(0)

    def build():
        tokens = jax.numpy.ones(batch, jax.numpy.int32)
        return model.init({"params": key, "dropout": key, "aqt": key}, tokens, tokens)

    with mesh, linen.logical_axis_rules(config.logical_axis_rules):
        shapes = jax.eval_shape(build)
    return sum(math.prod(array.shape) for array in jax.tree_util.tree_leaves(shapes["params"]))


def answer(question):
    try:
        return asked(**question)
    except (Exception, SystemExit) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def slices_known():
    from maxtext.utils import accelerator_to_spec_map as names  # noqa: PLC0415 (as above)

    table = names.UserFacingNameToSystemCharacteristics
    return {name: one.topology_name for name, one in table.items()}


if __name__ == "__main__":
    questions = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = slices_known() if questions == "slices" else [answer(one) for one in questions]
    json.dump(found, sys.stdout, default=str)
