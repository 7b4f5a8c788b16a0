#!/bin/bash
# GPT-3 Small on 1 chips of dgx-h100-ndr, 8 sequences of 2048 tokens a step.
# Plan: one chip, micro-batch 4, ddp, recompute none, split even.
# Written by planner 0.1.0.
# For Megatron-LM, core 0.16.1, 55ac708251 (2026-03-16).

set -euo pipefail

MEGATRON_HOME=${MEGATRON_HOME:-.}

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

# The vocabulary of 50,257 tokens is padded to 50,304.
MODEL_ARGS=(
    --num-layers 12
    --hidden-size 768
    --ffn-hidden-size 3072
    --normalization LayerNorm
    --position-embedding-type learned_absolute
    --seq-length 2048
    --max-position-embeddings 2048
    --make-vocab-size-divisible-by 128
    --hidden-dropout 0.0
    --attention-dropout 0.0
)

ATTENTION_ARGS=(
    --num-attention-heads 12
    --kv-channels 64
)

# A step has 2 micro-batches on every data rank.
BATCH_ARGS=(
    --micro-batch-size 4
    --global-batch-size 8
)

# The 1 data ranks follow: 1 chips / (tp x cp x pp).
PARALLEL_ARGS=(
    --tensor-model-parallel-size 1
    --context-parallel-size 1
    --pipeline-model-parallel-size 1
)

# Collectives hide behind the computation where the prediction assumes it.
SHARDING_ARGS=(
    --ckpt-format torch_dist
)

PRECISION_ARGS=(
    --bf16
    --grad-reduce-in-bf16
    --cross-entropy-loss-fusion
)

# Placeholders: how long and how fast it learns is no matter of the plan.
TRAINING_ARGS=(
    --train-iters 100
    --lr 1e-4
    --clip-grad 1.0
    --eval-iters 0
    --eval-interval 1000
    --log-interval 1
    --log-throughput
)

# Mock data; --data-path and a tokenizer take its place.
DATA_ARGS=(
    --mock-data
    --tokenizer-type NullTokenizer
    --vocab-size 50257
    --split 99,1,0
    --no-create-attention-mask-in-dataloader
)

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$MEGATRON_HOME/pretrain_gpt.py" \
    "${MODEL_ARGS[@]}" \
    "${ATTENTION_ARGS[@]}" \
    "${BATCH_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" \
    "${SHARDING_ARGS[@]}" \
    "${PRECISION_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${DATA_ARGS[@]}"
