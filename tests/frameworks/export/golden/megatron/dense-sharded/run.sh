#!/bin/bash
# Llama 3 8B on 64 chips of dgx-h100-ndr, 128 sequences of 8192 tokens a step.
# Plan: fsdp 64, micro-batch 2, zero3, recompute full, split even.
# Written by planner 0.1.0.
# For Megatron-LM, core 0.16.1, 55ac708251 (2026-03-16).

set -euo pipefail

MEGATRON_HOME=${MEGATRON_HOME:-.}

# Ranks count through the hosts in order, as the placement of the plan does.
DISTRIBUTED_ARGS=(
    --nnodes "${NNODES:-8}"
    --nproc-per-node 8
    --node-rank "${NODE_RANK:-${SLURM_NODEID:-0}}"
    --master-addr "${MASTER_ADDR:-localhost}"
    --master-port "${MASTER_PORT:-29500}"
)

export CUDA_DEVICE_MAX_CONNECTIONS=8
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# The vocabulary of 128,256 tokens is not padded.
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --swiglu
    --normalization RMSNorm
    --position-embedding-type rope
    --seq-length 8192
    --max-position-embeddings 8192
    --make-vocab-size-divisible-by 1
    --untie-embeddings-and-output-weights
    --disable-bias-linear
    --hidden-dropout 0.0
    --attention-dropout 0.0
)

ATTENTION_ARGS=(
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
)

# A step has 1 micro-batches on every data rank.
BATCH_ARGS=(
    --micro-batch-size 2
    --global-batch-size 128
)

# The 64 data ranks follow: 64 chips / (tp x cp x pp).
PARALLEL_ARGS=(
    --tensor-model-parallel-size 1
    --context-parallel-size 1
    --pipeline-model-parallel-size 1
)

# Collectives hide behind the computation where the prediction assumes it.
SHARDING_ARGS=(
    --use-megatron-fsdp
    --use-distributed-optimizer
    --data-parallel-sharding-strategy optim_grads_params
    --overlap-grad-reduce
    --overlap-param-gather
    --init-model-with-meta-device
    --ckpt-format fsdp_dtensor
)

MEMORY_ARGS=(
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
)

PRECISION_ARGS=(
    --bf16
    --accumulate-allreduce-grads-in-fp32
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
    --vocab-size 128256
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
    "${MEMORY_ARGS[@]}" \
    "${PRECISION_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${DATA_ARGS[@]}"
