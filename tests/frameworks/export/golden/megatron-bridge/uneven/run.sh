#!/bin/bash
# Llama 2 13B on 128 chips of dgx-a100-80-hdr, 256 sequences of 4096 tokens a step.
# Plan: dp 16 tp 2 pp 4, micro-batch 1, zero1, recompute none, split explicit: 9,11*2,9, schedule 1f1b.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

set -euo pipefail

PLAN_HOME=${PLAN_HOME:-.}

# Ranks count through the hosts in order, as the placement of the plan does.
DISTRIBUTED_ARGS=(
    --nnodes "${NNODES:-16}"
    --nproc-per-node 8
    --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"
    --master-addr "${MASTER_ADDR:-localhost}"
    --master-port "${MASTER_PORT:-29500}"
)

export CUDA_DEVICE_MAX_CONNECTIONS=1
export UB_SKIPMC=1
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$PLAN_HOME/pretrain.py"
