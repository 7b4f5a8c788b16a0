#!/usr/bin/env bash
# planner 0.1.0: llama2-70b, 1024 sequences of 4096 tokens, 512 chips of tpu-v5p, fsdp 128, tp 4, micro-batch 1, zero3, recompute full
# For torchtitan 0.3.0 (PyPI).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.
# Ranks count through the hosts in order, as the placement of the plan does.
export PYTORCH_ALLOC_CONF=expandable_segments:True
torchrun \
  --nnodes "${NNODES:-128}" \
  --nproc-per-node 4 \
  --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}" \
  --master-addr "${MASTER_ADDR:-localhost}" \
  --master-port "${MASTER_PORT:-29500}" \
  -m torchtitan.train \
  --module planned_config \
  --config planned \
  --training.local_batch_size 1 \
  --training.global_batch_size 1024 \
  --training.seq_len 4096 \
  --training.mixed_precision_param bfloat16 \
  --parallelism.data_parallel_replicate_degree 1 \
  --parallelism.data_parallel_shard_degree 128 \
  --parallelism.fsdp_reshard_after_forward default \
  --parallelism.tensor_parallel_degree 4 \
  --parallelism.enable_sequence_parallel \
  --parallelism.context_parallel_degree 1 \
  --parallelism.expert_parallel_degree 1 \
  --parallelism.pipeline_parallel_degree 1 \
  --compile.enable \
  --compile.components model,loss \
  activation-checkpoint:full
