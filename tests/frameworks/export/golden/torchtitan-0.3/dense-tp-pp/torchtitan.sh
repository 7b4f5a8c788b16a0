#!/usr/bin/env bash
# planner 0.1.0: llama3-70b, 1024 sequences of 8192 tokens, 512 chips of dgx-h100-ndr, dp 16, tp 8, pp 4, micro-batch 1, zero1, interleaved x 5, split even, recompute none
# For torchtitan 0.3.0 (PyPI).
# Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path
# (scripts/download_hf_assets.py fills it).
# Compilation: the cost model assumes a compiled loss and compiled blocks.
# Ranks count through the hosts in order, as the placement of the plan does.
export PYTORCH_ALLOC_CONF=expandable_segments:True
torchrun \
  --nnodes "${NNODES:-64}" \
  --nproc-per-node 8 \
  --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}" \
  --master-addr "${MASTER_ADDR:-localhost}" \
  --master-port "${MASTER_PORT:-29500}" \
  -m torchtitan.train \
  --module llama3 \
  --config llama3_70b \
  --training.local_batch_size 64 \
  --training.global_batch_size 1024 \
  --training.seq_len 8192 \
  --training.mixed_precision_param bfloat16 \
  --training.disable_cuda_graphs \
  --parallelism.data_parallel_replicate_degree 1 \
  --parallelism.data_parallel_shard_degree 16 \
  --parallelism.fsdp_reshard_after_forward never \
  --parallelism.tensor_parallel_degree 8 \
  --parallelism.enable_sequence_parallel \
  --parallelism.context_parallel_degree 1 \
  --parallelism.expert_parallel_degree 1 \
  --parallelism.pipeline_parallel_degree 4 \
  --parallelism.pipeline_parallel_schedule Interleaved1F1B \
  --parallelism.pipeline_parallel_microbatch_size 1 \
  --parallelism.module_fqns_per_model_part tok_embeddings,layers.0,layers.1,layers.2,layers.3 layers.4,layers.5,layers.6,layers.7 layers.8,layers.9,layers.10,layers.11 layers.12,layers.13,layers.14,layers.15 layers.16,layers.17,layers.18,layers.19 layers.20,layers.21,layers.22,layers.23 layers.24,layers.25,layers.26,layers.27 layers.28,layers.29,layers.30,layers.31 layers.32,layers.33,layers.34,layers.35 layers.36,layers.37,layers.38,layers.39 layers.40,layers.41,layers.42,layers.43 layers.44,layers.45,layers.46,layers.47 layers.48,layers.49,layers.50,layers.51 layers.52,layers.53,layers.54,layers.55 layers.56,layers.57,layers.58,layers.59 layers.60,layers.61,layers.62,layers.63 layers.64,layers.65,layers.66,layers.67 layers.68,layers.69,layers.70,layers.71 layers.72,layers.73,layers.74,layers.75 layers.76,layers.77,layers.78,layers.79,norm,lm_head \
  --compile.enable \
  --compile.components model,loss \
  activation-checkpoint:none
