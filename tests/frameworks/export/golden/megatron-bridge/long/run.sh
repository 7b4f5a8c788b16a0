#!/bin/bash
# Llama 3 8B on 64 chips of dgx-h100-ndr, 32 sequences of 32768 tokens a step.
# Plan: dp 8 tp 2 cp 4, micro-batch 1, zero1, recompute full, split even.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

set -euo pipefail

PLAN_HOME=${PLAN_HOME:-.}

# Ranks count through the hosts in order, as the placement of the plan does.
DISTRIBUTED_ARGS=(
    --nnodes "${NNODES:-8}"
    --nproc-per-node 8
    --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"
    --master-addr "${MASTER_ADDR:-localhost}"
    --master-port "${MASTER_PORT:-29500}"
)

export CUDA_DEVICE_MAX_CONNECTIONS=1
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$PLAN_HOME/pretrain.py"
