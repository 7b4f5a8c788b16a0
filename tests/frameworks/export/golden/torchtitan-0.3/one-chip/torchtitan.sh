#!/usr/bin/env bash
# planner 0.1.0: gpt3-125m, 8 sequences of 2048 tokens, 1 chips of dgx-h100-ndr, one chip, micro-batch 4, ddp, recompute none
# For torchtitan 0.3.0 (PyPI).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.
# Ranks count through the hosts in order, as the placement of the plan does.
export PYTORCH_ALLOC_CONF=expandable_segments:True
torchrun \
  --standalone \
  --nproc-per-node 1 \
  -m torchtitan.train \
  --module models_to_register \
  --config gpt3_125m \
  --training.local_batch_size 4 \
  --training.global_batch_size 8 \
  --training.seq_len 2048 \
  --training.mixed_precision_param bfloat16 \
  --parallelism.data_parallel_replicate_degree 1 \
  --parallelism.data_parallel_shard_degree 1 \
  --parallelism.fsdp_reshard_after_forward default \
  --parallelism.tensor_parallel_degree 1 \
  --parallelism.context_parallel_degree 1 \
  --parallelism.expert_parallel_degree 1 \
  --parallelism.pipeline_parallel_degree 1 \
  --compile.enable \
  --compile.components model,loss \
  activation-checkpoint:none
