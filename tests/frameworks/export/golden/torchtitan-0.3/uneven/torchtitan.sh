#!/usr/bin/env bash
# planner 0.1.0: llama2-13b, 256 sequences of 4096 tokens, 128 chips of dgx-a100-80-hdr, dp 16, tp 2, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 9,11*2,9, recompute none
# For torchtitan 0.3.0 (PyPI).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.
# Ranks count through the hosts in order, as the placement of the plan does.
export PYTORCH_ALLOC_CONF=expandable_segments:True
torchrun \
  --nnodes "${NNODES:-16}" \
  --nproc-per-node 8 \
  --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}" \
  --master-addr "${MASTER_ADDR:-localhost}" \
  --master-port "${MASTER_PORT:-29500}" \
  -m torchtitan.train \
  --module planned_config \
  --config planned \
  --training.local_batch_size 16 \
  --training.global_batch_size 256 \
  --training.seq_len 4096 \
  --training.mixed_precision_param bfloat16 \
  --training.disable_cuda_graphs \
  --parallelism.data_parallel_replicate_degree 1 \
  --parallelism.data_parallel_shard_degree 16 \
  --parallelism.fsdp_reshard_after_forward never \
  --parallelism.tensor_parallel_degree 2 \
  --parallelism.enable_sequence_parallel \
  --parallelism.context_parallel_degree 1 \
  --parallelism.expert_parallel_degree 1 \
  --parallelism.pipeline_parallel_degree 4 \
  --parallelism.pipeline_parallel_schedule 1F1B \
  --parallelism.pipeline_parallel_microbatch_size 1 \
  --parallelism.module_fqns_per_model_part tok_embeddings,layers.0,layers.1,layers.2,layers.3,layers.4,layers.5,layers.6,layers.7,layers.8 layers.9,layers.10,layers.11,layers.12,layers.13,layers.14,layers.15,layers.16,layers.17,layers.18,layers.19 layers.20,layers.21,layers.22,layers.23,layers.24,layers.25,layers.26,layers.27,layers.28,layers.29,layers.30 layers.31,layers.32,layers.33,layers.34,layers.35,layers.36,layers.37,layers.38,layers.39,norm,lm_head \
  --compile.enable \
  --compile.components model,loss \
  activation-checkpoint:none
