# planner 0.1.0: llama3.1-405b, 128 sequences of 8192 tokens, 512 chips of dgx-h100-ndr, dp 2, fsdp 16, tp 8, cp 2, micro-batch 1, zero3, recompute full
MODEL_TYPE = 'llama'
DIMENSIONS = {'num_hidden_layers': 126,
 'hidden_size': 16384,
 'num_attention_heads': 128,
 'num_key_value_heads': 8,
 'head_dim': 128,
 'intermediate_size': 53248,
 'vocab_size': 128256,
 'max_position_embeddings': 8192,
 'tie_word_embeddings': False}
DTYPE = 'bfloat16'
ATTENTION = 'flash_attention_2'
SEQ_LEN = 8192
SEQUENCES = 128
STEPS = 30
RECOMPUTE = True
MICRO_BATCH = 1
STAGE = 3
TENSOR_RANKS = 8
SEQUENCE_RANKS = 1
EXPERT_RANKS = 1

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
