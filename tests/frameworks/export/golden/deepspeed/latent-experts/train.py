# planner 0.1.0: deepseek-v3, 2048 sequences of 4096 tokens, 256 chips of gb200-nvl72, dp 64, ep 64, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 16,15*3, recompute full
MODEL_TYPE = 'deepseek_v3'
DIMENSIONS = {'num_hidden_layers': 61,
 'hidden_size': 7168,
 'num_attention_heads': 128,
 'num_key_value_heads': 128,
 'head_dim': 64,
 'intermediate_size': 18432,
 'vocab_size': 129280,
 'max_position_embeddings': 4096,
 'tie_word_embeddings': False,
 'q_lora_rank': 1536,
 'kv_lora_rank': 512,
 'qk_nope_head_dim': 128,
 'qk_rope_head_dim': 64,
 'v_head_dim': 128,
 'n_routed_experts': 256,
 'num_experts_per_tok': 8,
 'moe_intermediate_size': 2048,
 'n_shared_experts': 1,
 'first_k_dense_replace': 3,
 'n_group': 8,
 'topk_group': 4}
DTYPE = 'bfloat16'
ATTENTION = 'flash_attention_2'
SEQ_LEN = 4096
SEQUENCES = 2048
STEPS = 30
RECOMPUTE = True
BORDERS = [0, 17, 32, 47, 63]

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
