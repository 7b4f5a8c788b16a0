#!/bin/bash
# DeepSeek-V3 on 256 chips of gb200-nvl72, 2048 sequences of 4096 tokens a step.
# Plan: dp 64 ep 64 pp 4, micro-batch 1, zero1, recompute full, split explicit: 16,15*3, schedule 1f1b.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

set -euo pipefail

PLAN_HOME=${PLAN_HOME:-.}

# Ranks count through the hosts in order, as the placement of the plan does.
# 16 of the 18 hosts of each of 4 nvlink domains, those of one domain in a row:
# hosts 0 to 15 in the first, and so on (Slurm, block topology: --segment=16).
DISTRIBUTED_ARGS=(
    --nnodes "${NNODES:-64}"
    --nproc-per-node 4
    --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"
    --master-addr "${MASTER_ADDR:-localhost}"
    --master-port "${MASTER_PORT:-29500}"
)

export CUDA_DEVICE_MAX_CONNECTIONS=32
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$PLAN_HOME/pretrain.py"
