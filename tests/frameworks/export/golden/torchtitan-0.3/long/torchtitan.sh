#!/usr/bin/env bash
# planner 0.1.0: llama3-8b, 32 sequences of 32768 tokens, 64 chips of dgx-h100-ndr, dp 8, tp 2, cp 4, micro-batch 1, zero1, recompute full
# For torchtitan 0.3.0 (PyPI).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.
# Ranks count through the hosts in order, as the placement of the plan does.
export PYTORCH_ALLOC_CONF=expandable_segments:True
torchrun \
  --nnodes "${NNODES:-8}" \
  --nproc-per-node 8 \
  --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}" \
  --master-addr "${MASTER_ADDR:-localhost}" \
  --master-port "${MASTER_PORT:-29500}" \
  -m torchtitan.train \
  --module llama3 \
  --config llama3_8b \
  --training.local_batch_size 1 \
  --training.global_batch_size 32 \
  --training.seq_len 32768 \
  --training.mixed_precision_param bfloat16 \
  --parallelism.data_parallel_replicate_degree 1 \
  --parallelism.data_parallel_shard_degree 8 \
  --parallelism.fsdp_reshard_after_forward never \
  --parallelism.tensor_parallel_degree 2 \
  --parallelism.enable_sequence_parallel \
  --parallelism.context_parallel_degree 4 \
  --parallelism.expert_parallel_degree 1 \
  --parallelism.pipeline_parallel_degree 1 \
  --compile.enable \
  --compile.components model,loss \
  activation-checkpoint:full
