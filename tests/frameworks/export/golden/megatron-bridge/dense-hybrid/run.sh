#!/bin/bash
# Llama 3.1 405B on 512 chips of dgx-h100-ndr, 128 sequences of 8192 tokens a step.
# Plan: dp 2 fsdp 16 tp 8 cp 2, micro-batch 1, zero3, recompute full, split even.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

set -euo pipefail

PLAN_HOME=${PLAN_HOME:-.}

# Ranks count through the hosts in order, as the placement of the plan does.
DISTRIBUTED_ARGS=(
    --nnodes "${NNODES:-64}"
    --nproc-per-node 8
    --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"
    --master-addr "${MASTER_ADDR:-localhost}"
    --master-port "${MASTER_PORT:-29500}"
)

export CUDA_DEVICE_MAX_CONNECTIONS=8
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$PLAN_HOME/pretrain.py"
