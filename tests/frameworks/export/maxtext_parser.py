"""Run by a Python that has what MaxText needs: its own parser on YAML files.

Reads a JSON list of {"text", "devices", "slices"} from the standard input and writes, for each,
{"error"} or the settings that MaxText derives; with "traced" the parameters of its model instead.
"""

import contextlib
import json
import pathlib
import sys
import tempfile

import maxtext_tracing

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


def asked(text, devices, slices, *, traced=False):
    from maxtext.utils import max_utils  # noqa: PLC0415 (a failure is an answer)

    compiled = ("internal_compile=true", f"internal_compile_num_devices={devices}")
    config = read(text, *compiled, f"num_slices={slices}")
    if traced:
        return {"parameters": maxtext_tracing.parameters(config, devices, slices)}
    max_utils.fill_unspecified_mesh_axes(list(config.ici_parallelism), devices // slices, "ICI")
    if slices > 1:
        max_utils.fill_unspecified_mesh_axes(list(config.dcn_parallelism), slices, "DCN")
    return {name: getattr(config, name) for name in DERIVED}


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
