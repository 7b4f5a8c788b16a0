"""The training script that goes with a DeepSpeed configuration.

It stands as two texts below constants: one trains a model of transformers as it is, the other cuts
it into the stages of a pipeline. Names: DeepSpeed edaa722 (2026-08-22), runtime/pipe/module.py and
runtime/sequence_parallel/ulysses_sp.py; transformers 5.23.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.writing.python_text import assignments

_IMPORTS = '''
import json
from importlib import import_module

import deepspeed
import torch
import transformers


class RandomTokens(torch.utils.data.Dataset):
    """Random token ids in place of your data; a sample is the same on every rank."""

    def __len__(self):
        return SEQUENCES * STEPS

    def __getitem__(self, index):
        source = torch.Generator().manual_seed(index)
        return SAMPLE(torch.randint(0, DIMENSIONS["vocab_size"], (SEQ_LEN,), generator=source))


def configuration():
    return transformers.AutoConfig.for_model(
        MODEL_TYPE, attn_implementation=ATTENTION, use_cache=False, **DIMENSIONS
    )


def settings():
    with open("ds_config.json", encoding="utf-8") as file:
        return json.load(file)
'''

_WHOLE = '''
def SAMPLE(tokens):
    sample = {"input_ids": tokens, "labels": tokens.clone()}
    if SEQUENCE_RANKS > 1:
        sample["position_ids"] = torch.arange(SEQ_LEN)
    return sample


def tensor_groups():
    """The groups of ranks that DeepSpeed counts data ranks by; None where all are data ranks."""
    if TENSOR_RANKS == 1:
        return None
    from deepspeed.utils import groups

    groups._init_tp_mesh_device(tensor_model_parallel_size=TENSOR_RANKS)
    return groups


def sequence_groups(model):
    from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF

    return UlyssesSPAttentionHF.register_with_transformers(
        model_name_or_path=model,
        core_attn_implementation=ATTENTION,
        sequence_parallel_size=SEQUENCE_RANKS,
        micro_batch_size=MICRO_BATCH,
        seq_length=SEQ_LEN,
        seq_length_is_variable=False,
    )


def built():
    """The same weights on every rank; transformers shards them as they are made under ZeRO-3.

    That needs Accelerate, and a configuration that lives meanwhile. Its count of data ranks, hence
    of sequences, comes before there are groups; modules must be imported before.
    """
    config, own = configuration(), settings()
    import_module(type(config).__module__.replace(".configuration_", ".modeling_"))
    del own["train_batch_size"]
    sharding = transformers.integrations.HfDeepSpeedConfig(own) if STAGE == 3 else None
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, DTYPE))
    del sharding
    if RECOMPUTE:
        model.gradient_checkpointing_enable()
    if EXPERT_RANKS > 1:
        forget_router_logits(model)
    return model


def forget_router_logits(model):
    """AutoEP would move what records them, which it finds no more in transformers 5.23."""
    for module in model.modules():
        recorded = getattr(module, "_can_record_outputs", None) or {}
        if "router_logits" in recorded:
            kept = {name: one for name, one in recorded.items() if name != "router_logits"}
            module._can_record_outputs = kept


def batches(engine, mpu):
    """Micro-batches: those of the data rank, or this rank's part of each of its group's."""
    tensor = TENSOR_RANKS > 1
    sampler = torch.utils.data.DistributedSampler(
        RandomTokens(),
        num_replicas=mpu.get_data_parallel_world_size() if tensor else engine.world_size,
        rank=mpu.get_data_parallel_rank() if tensor else engine.global_rank,
        shuffle=False,
    )
    own = torch.utils.data.DataLoader(RandomTokens(), batch_size=MICRO_BATCH, sampler=sampler)
    if SEQUENCE_RANKS == 1:
        return own
    from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPDataLoaderAdapter

    return UlyssesSPDataLoaderAdapter(
        own,
        sp_rank=mpu.get_sequence_parallel_rank(),
        sp_group=mpu.get_sequence_parallel_group(),
        sp_world_size=SEQUENCE_RANKS,
        device=engine.device,
    )


def loss_of(engine, batch, mpu):
    """The loss; of a rank with a part of a sequence such that the mean over ranks is the loss."""
    if SEQUENCE_RANKS == 1:
        return engine(**batch).loss
    targets = batch.pop("shift_labels")
    logits = engine(**batch).logits
    own = engine.module.loss_function(
        logits=logits, labels=None, shift_labels=targets, vocab_size=DIMENSIONS["vocab_size"]
    )
    count = (targets != -100).sum()
    return own * count / mean_over_parts(count.float(), mpu)


def mean_over_parts(value, mpu):
    mean = value.detach().clone()
    if SEQUENCE_RANKS > 1:
        torch.distributed.all_reduce(mean, group=mpu.get_sequence_parallel_group())
    return mean / SEQUENCE_RANKS


def main():
    deepspeed.init_distributed()
    mpu = tensor_groups()
    model = built()
    if SEQUENCE_RANKS > 1:
        mpu = sequence_groups(model)
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=settings(), mpu=mpu
    )
    for batch in batches(engine, mpu):
        batch = {name: value.to(engine.device) for name, value in batch.items()}
        loss = loss_of(engine, batch, mpu)
        engine.backward(loss)
        last = engine.is_gradient_accumulation_boundary()
        engine.step()
        if last:
            shown = mean_over_parts(loss, mpu).item()
            if engine.global_rank == 0:
                print(f"step {engine.global_steps}: loss {shown:.4f}", flush=True)


if __name__ == "__main__":
    main()
'''

_PIPELINE = '''
from deepspeed.pipe import LayerSpec, PipelineModule

modeling = import_module(f"transformers.models.{MODEL_TYPE}.modeling_{MODEL_TYPE}")


def class_named(ending):
    """The class of the model's family, e.g. LlamaDecoderLayer."""
    return next(
        value
        for name, value in vars(modeling).items()
        if name.endswith(ending) and name.count("PreTrained") == 0
    )


def SAMPLE(tokens):
    return tokens, tokens.clone()


def initialized(module, config):
    for weight in module.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=config.initializer_range)
    return module


class Embedding(torch.nn.Embedding):
    def __init__(self, config):
        super().__init__(config.vocab_size, config.hidden_size)
        initialized(self, config)


class Block(torch.nn.Module):
    """A layer of transformers that makes its own rotary embedding."""

    def __init__(self, config, index):
        super().__init__()
        self.layer = initialized(class_named("DecoderLayer")(config, index), config)
        self.rotary = class_named("RotaryEmbedding")(config)

    def forward(self, hidden):
        positions = torch.arange(hidden.shape[1], device=hidden.device)[None]
        out = self.layer(
            hidden, position_ids=positions, position_embeddings=self.rotary(hidden, positions)
        )
        return out[0] if isinstance(out, tuple) else out


class Head(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm = class_named("RMSNorm")(config.hidden_size)
        out = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.out = initialized(out, config)

    def forward(self, hidden):
        return self.out(self.norm(hidden))


class Stages(PipelineModule):
    """A pipeline with the layers of the plan on each stage; BORDERS counts embedding and head."""

    def _partition_layers(self, method="uniform"):
        stage = self._topo.get_coord(self.global_rank).pipe
        self.parts = BORDERS
        self._set_bounds(start=BORDERS[stage], stop=BORDERS[stage + 1])


def loss_of(logits, labels):
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten()
    )


def main():
    deepspeed.init_distributed()
    config = configuration()
    layers = [LayerSpec(Embedding, config)]
    layers += [LayerSpec(Block, config, index) for index in range(BORDERS[-1] - 2)]
    layers += [LayerSpec(Head, config)]
    model = Stages(
        layers=layers,
        num_stages=len(BORDERS) - 1,
        loss_fn=loss_of,
        activation_checkpoint_interval=int(RECOMPUTE),
        checkpointable_layers=["Block"],
    )
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        model_parameters=[p for p in model.parameters() if p.requires_grad],
        training_data=RandomTokens(),
        config=settings(),
    )
    for step in range(1, STEPS + 1):
        loss = engine.train_batch()
        if engine.global_rank == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
'''


def script(title: str, constants: dict[str, Any], *, pipeline: bool) -> str:
    """The script under a comment, with the constants that its text reads."""
    body = _PIPELINE if pipeline else _WHOLE
    return f"# {title}\n{assignments(constants)}" + _IMPORTS + "\n" + body
