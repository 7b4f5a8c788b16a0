"""The training script that goes with a DeepSpeed configuration.

It stands as two texts below constants: one trains a model of transformers as it is, the other cuts
it into the stages of a pipeline. Names: DeepSpeed edaa722 (2026-08-22), runtime/pipe/module.py and
runtime/sequence_parallel/ulysses_sp.py; transformers 5.23.
"""

from __future__ import annotations

import pprint
from typing import Any

_IMPORTS = '''
import deepspeed
import torch
import transformers


class RandomTokens(torch.utils.data.Dataset):
    """Random token ids in place of your data."""

    def __len__(self):
        return SEQUENCES * STEPS

    def __getitem__(self, index):
        tokens = torch.randint(0, DIMENSIONS["vocab_size"], (SEQ_LEN,))
        return SAMPLE(tokens)


def configuration():
    return transformers.AutoConfig.for_model(
        MODEL_TYPE, attn_implementation=ATTENTION, use_cache=False, **DIMENSIONS
    )
'''

_WHOLE = '''
def SAMPLE(tokens):
    sample = {"input_ids": tokens, "labels": tokens.clone()}
    if SEQUENCE_RANKS > 1:
        sample["position_ids"] = torch.arange(SEQ_LEN)
    return sample


def sharded():
    """Weights are sharded as they are made under ZeRO-3."""
    return deepspeed.zero.Init(config_dict_or_path="ds_config.json", enabled=STAGE == 3)


def main():
    deepspeed.init_distributed()
    with sharded():
        model = transformers.AutoModelForCausalLM.from_config(
            configuration(), dtype=getattr(torch, DTYPE)
        )
    if RECOMPUTE:
        model.gradient_checkpointing_enable()
    mpu = None
    if SEQUENCE_RANKS > 1:
        from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF

        mpu = UlyssesSPAttentionHF.register_with_transformers(
            model_name_or_path=model,
            core_attn_implementation=ATTENTION,
            sequence_parallel_size=SEQUENCE_RANKS,
            micro_batch_size=MICRO_BATCH,
            seq_length=SEQ_LEN,
            seq_length_is_variable=False,
        )
    engine, _, batches, _ = deepspeed.initialize(
        model=model,
        model_parameters=model.parameters(),
        training_data=RandomTokens(),
        config="ds_config.json",
        mpu=mpu,
    )
    if SEQUENCE_RANKS > 1:
        from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPDataLoaderAdapter

        batches = UlyssesSPDataLoaderAdapter(
            batches,
            sp_rank=mpu.get_sequence_parallel_rank(),
            sp_group=mpu.get_sequence_parallel_group(),
            sp_world_size=SEQUENCE_RANKS,
            device=engine.device,
        )
    for batch in batches:
        batch = {name: value.to(engine.device) for name, value in batch.items()}
        engine.backward(loss_of(engine, batch, mpu))
        engine.step()


def loss_of(engine, batch, mpu):
    if mpu is None:
        return engine(**batch).loss
    targets = batch.pop("shift_labels")
    logits = engine(**batch).logits
    own = engine.module.loss_function(
        logits=logits, labels=None, shift_labels=targets, vocab_size=DIMENSIONS["vocab_size"]
    )
    group = mpu.get_sequence_parallel_group()
    losses = torch.distributed.nn.functional.all_gather(own, group=group)
    counts = torch.distributed.nn.functional.all_gather((targets != -100).sum(), group=group)
    return sum(a * b for a, b in zip(losses, counts)) / sum(counts)


if __name__ == "__main__":
    main()
'''

_PIPELINE = '''
from importlib import import_module

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


class Embedding(torch.nn.Embedding):
    def __init__(self, config):
        super().__init__(config.vocab_size, config.hidden_size)


class Block(torch.nn.Module):
    """A layer of transformers that makes its own rotary embedding."""

    def __init__(self, config, index):
        super().__init__()
        self.layer = class_named("DecoderLayer")(config, index)
        self.rotary = class_named("RotaryEmbedding")(config)
        for weight in self.layer.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=config.initializer_range)

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
        self.out = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)

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
        config="ds_config.json",
    )
    for _ in range(STEPS):
        engine.train_batch()


if __name__ == "__main__":
    main()
'''


def script(title: str, constants: dict[str, Any], *, pipeline: bool) -> str:
    """The script under a comment, with the constants that its text reads."""
    lines = [
        f"{name} = {pprint.pformat(value, sort_dicts=False, compact=True)}"
        for name, value in constants.items()
    ]
    body = _PIPELINE if pipeline else _WHOLE
    return f"# {title}\n" + "\n".join(lines) + "\n" + _IMPORTS + "\n" + body
