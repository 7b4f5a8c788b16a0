# planner 0.1.0: llama2-70b, 1024 sequences of 4096 tokens, 512 chips of tpu-v5p, fsdp 128, tp 4, micro-batch 1, zero3, recompute full
MODEL_TYPE = 'llama'
DIMENSIONS = {'num_hidden_layers': 80,
 'hidden_size': 8192,
 'num_attention_heads': 64,
 'num_key_value_heads': 8,
 'head_dim': 128,
 'intermediate_size': 28672,
 'vocab_size': 32000,
 'max_position_embeddings': 4096,
 'tie_word_embeddings': False}
DTYPE = 'bfloat16'
ATTENTION = 'sdpa'
SEQ_LEN = 4096
SEQUENCES = 1024
STEPS = 30
RECOMPUTE = True
MICRO_BATCH = 1
STAGE = 3
SEQUENCE_RANKS = 1

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
