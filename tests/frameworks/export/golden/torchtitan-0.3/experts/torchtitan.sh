#!/usr/bin/env bash
# planner 0.1.0: mixtral-8x7b, 256 sequences of 4096 tokens, 128 chips of dgx-h100-ndr, dp 32, tp 2, ep 8, pp 2, micro-batch 1, zero1, 1f1b, split even, recompute none
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
  --module models_to_register \
  --config mixtral_8x7b \
  --training.local_batch_size 8 \
  --training.global_batch_size 256 \
  --training.seq_len 4096 \
  --training.mixed_precision_param bfloat16 \
  --training.disable_cuda_graphs \
  --parallelism.data_parallel_replicate_degree 1 \
  --parallelism.data_parallel_shard_degree 32 \
  --parallelism.fsdp_reshard_after_forward never \
  --parallelism.tensor_parallel_degree 2 \
  --parallelism.enable_sequence_parallel \
  --parallelism.context_parallel_degree 1 \
  --parallelism.expert_parallel_degree 8 \
  --parallelism.pipeline_parallel_degree 2 \
  --parallelism.pipeline_parallel_schedule 1F1B \
  --parallelism.pipeline_parallel_microbatch_size 1 \
  --parallelism.module_fqns_per_model_part tok_embeddings,layers.0,layers.1,layers.2,layers.3,layers.4,layers.5,layers.6,layers.7,layers.8,layers.9,layers.10,layers.11,layers.12,layers.13,layers.14,layers.15 layers.16,layers.17,layers.18,layers.19,layers.20,layers.21,layers.22,layers.23,layers.24,layers.25,layers.26,layers.27,layers.28,layers.29,layers.30,layers.31,norm,lm_head \
  --compile.enable \
  --compile.components loss \
  activation-checkpoint:none
