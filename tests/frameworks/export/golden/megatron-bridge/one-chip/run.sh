#!/bin/bash
# GPT-3 Small on 1 chips of dgx-h100-ndr, 8 sequences of 2048 tokens a step.
# Plan: one chip, micro-batch 4, ddp, recompute none, split even.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

set -euo pipefail

PLAN_HOME=${PLAN_HOME:-.}

# Ranks count through the hosts in order, as the placement of the plan does.
DISTRIBUTED_ARGS=(
    --nnodes "${NNODES:-1}"
    --nproc-per-node 1
    --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"
    --master-addr "${MASTER_ADDR:-localhost}"
    --master-port "${MASTER_PORT:-29500}"
)

export CUDA_DEVICE_MAX_CONNECTIONS=8
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$PLAN_HOME/pretrain.py"
