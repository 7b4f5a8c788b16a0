"""Run by a Python that has torchtitan: its own configuration classes on exported files.

Called with "0.2", "0.3" or "main". Reads a JSON list of {"files", "command", "world"} from the
standard input and writes, for each, {"error"} or what torchtitan makes of it.
"""

import contextlib
import functools
import importlib
import json
import os
import pathlib
import shlex
import sys
import tempfile

PARALLEL = ("dp_replicate", "dp_shard", "cp", "tp", "pp", "ep")
MODULES = ("planned_config", "models_to_register")


def early(arguments, world):
    """v0.2.2: job_config.py, manager.py, parallel_dims.py, train.py."""
    from torchtitan.config import ConfigManager  # noqa: PLC0415 (a failure is an answer)
    from torchtitan.distributed import ParallelDims  # noqa: PLC0415 (as above)
    from torchtitan.protocols.train_spec import get_train_spec  # noqa: PLC0415 (as above)

    config = ConfigManager().parse_args(arguments)
    asked = config.parallelism
    dims = ParallelDims(
        dp_replicate=asked.data_parallel_replicate_degree,
        dp_shard=asked.data_parallel_shard_degree,
        cp=asked.context_parallel_degree,
        tp=asked.tensor_parallel_degree,
        pp=asked.pipeline_parallel_degree,
        ep=asked.expert_parallel_degree,
        etp=asked.expert_tensor_parallel_degree,
        world_size=world,
    )
    if config.experimental.custom_import:
        importlib.import_module(config.experimental.custom_import)
    spec = get_train_spec(config.model.name)
    model = spec.model_args[config.model.flavor]
    model.update_from_config(config)
    assert config.training.seq_len % dims.seq_len_divisor == 0
    return config, dims, model.n_layers, functools.partial(spec.model_cls, model)


def late(arguments, world):
    """0.3.0 and main: config/manager.py, parallel_dims.py, models/common/decoder.py."""
    from torchtitan.config import ConfigManager  # noqa: PLC0415 (a failure is an answer)
    from torchtitan.distributed import ParallelDims  # noqa: PLC0415 (as above)

    config = ConfigManager().parse_args(arguments)
    dims = ParallelDims.from_config(config.parallelism, world)
    model = config.model_spec.model
    model.update_from_config(config=config)
    return config, dims, len(model.layers), model.build


def batch(config, dims):
    """Sequences or tokens of a step, steps of accumulation and micro-batches of a pipeline."""
    asked, ranks = config.training, dims.dp_replicate * dims.dp_shard
    if hasattr(asked, "local_batch_size"):
        micro = config.parallelism.pipeline_parallel_microbatch_size
        rounds = asked.local_batch_size // micro if dims.pp > 1 else 1
        assert dims.pp == 1 or asked.local_batch_size % micro == 0
        step, local = asked.global_batch_size, asked.local_batch_size
    else:
        rounds = config.parallelism.num_pp_microbatches if dims.pp > 1 else 1
        step = asked.num_tokens_per_train_step
        local = asked.num_tokens_per_microbatch_per_dp_rank * rounds
    assert step % (local * ranks) == 0
    return {"step": step, "accumulation": step // (local * ranks), "micro_batches": rounds}


def stages(config, dims, layers):
    """Layers per stage and what torchtitan's own rule would give, with its check of schedules."""
    from torch.distributed.pipelining import schedules  # noqa: PLC0415 (a failure is an answer)
    from torchtitan.distributed import pipeline_parallel as own  # noqa: PLC0415 (as above)

    parts, schedule = config.parallelism.module_fqns_per_model_part, None
    if dims.pp == 1:
        return None
    schedule = config.parallelism.pipeline_parallel_schedule
    single = issubclass(schedules.get_schedule_class(schedule), schedules.PipelineScheduleSingle)
    assert len(parts) % dims.pp == 0
    assert (len(parts) == dims.pp) == single
    split = getattr(own, "generate_llm_fqn_per_model_part", None)
    split = split or own._generate_llm_fqn_per_model_part
    try:
        default = split(len(parts), layers, 1, 1)
    except ValueError:
        default = None
    names = [name for part in parts for name in part]
    assert [one for one in names if one.startswith("layers")] == [
        f"layers.{layer}" for layer in range(layers)
    ]
    return {"layers": [sum(name.startswith("layers") for name in part) for part in parts],
            "default": default == parts, "first": names[0], "last": names[-2:]}  # fmt: skip


def parameters(build):
    import torch  # noqa: PLC0415 (a failure is an answer)

    with torch.device("meta"):
        return sum(one.numel() for one in build().parameters())


def asked(files, command, world, version, counts):
    words = [word for word in shlex.split(command.replace("\\\n", ""), comments=True)]
    arguments = words[words.index("torchtitan.train") + 1 :]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in files.items():
            pathlib.Path(name).write_text(text)
        sys.path.insert(0, folder)
        for name in MODULES:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        try:
            read = early if version == "0.2" else late
            config, dims, layers, build = read(arguments, world)
        finally:
            sys.path.remove(folder)
    answer = {name: getattr(dims, name) for name in PARALLEL}
    answer |= batch(config, dims) | {"stages": stages(config, dims, layers)}
    return answer | ({"parameters": parameters(build)} if counts else {})


def answer(question, version):
    try:
        return asked(**question, version=version)
    except (Exception, SystemExit) as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    os.environ.setdefault("LOCAL_RANK", "0")
    with contextlib.redirect_stdout(sys.stderr):
        found = [answer(one, sys.argv[1]) for one in json.load(sys.stdin)]
    json.dump(found, sys.stdout)
