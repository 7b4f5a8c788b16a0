"""Run by a Python that has torchtitan: what its own ConfigManager makes of `--config`.

Reads a JSON list of [module, config] from the standard input and writes for each what a plan
depends on, or {"error"}. Configurations for chips of some capability are read on any.
"""

import contextlib
import json
import os
import sys

MESH = ("data_parallel_replicate_degree", "data_parallel_shard_degree", "tensor_parallel_degree",
        "context_parallel_degree", "pipeline_parallel_degree", "expert_parallel_degree",
        "enable_sequence_parallel", "pipeline_parallel_schedule",
        "fsdp_reshard_after_forward")  # fmt: skip
POLICIES = {"SelectiveAC": "selective", "FullAC": "full", "NoneType": "none"}


def sizes(training):
    """Tokens of a data rank and step, and of a sequence."""
    if hasattr(training, "local_batch_size"):
        return training.local_batch_size * training.seq_len, training.seq_len
    return training.num_tokens_per_microbatch_per_dp_rank, training.max_context_length


def formats(model):
    """Number formats of converted products."""
    words = repr(model).lower()
    return [name for name in ("float8", "mxfp8", "nvfp4") if name in words]


def answer(module, config):
    from torchtitan.config import ConfigManager  # noqa: PLC0415 (a failure is an answer)

    found = ConfigManager().parse_args(["--module", module, "--config", config])
    policy = type(found.activation_checkpoint).__qualname__.partition(".")[0]
    tokens, length = sizes(found.training)
    compiles = found.compile.components if found.compile.enable else []
    return {
        "tokens": tokens,
        "length": length,
        "recompute": POLICIES[policy],
        "compiles": compiles,
        "formats": formats(found.model_spec.model),
        "stored": [found.training.dtype, found.training.mixed_precision_param],
        "flavor": found.model_spec.flavor,
        **{name: str(getattr(found.parallelism, name)) for name in MESH},
    }


def asked(module, config):
    try:
        return answer(module, config)
    except (Exception, SystemExit) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def registered():
    """Configurations in the registries of modules that can be imported."""
    import importlib  # noqa: PLC0415 (with what follows)
    import inspect  # noqa: PLC0415 (as above)

    names = []
    for module in json.loads(sys.argv[1]):
        registry = importlib.import_module(f"torchtitan.models.{module}.config_registry")
        names += [
            [module, name]
            for name, one in inspect.getmembers(registry, inspect.isfunction)
            if one.__module__ == registry.__name__
            and not name.startswith("_")
            and not inspect.signature(one).parameters
        ]
    return names


if __name__ == "__main__":
    os.environ.setdefault("LOCAL_RANK", "0")
    with contextlib.redirect_stdout(sys.stderr):
        import torchtitan.tools.utils

        torchtitan.tools.utils.has_cuda_capability = lambda *wanted: True
        answers = [[*one, asked(*one)] for one in registered()]
    json.dump(answers, sys.stdout)
