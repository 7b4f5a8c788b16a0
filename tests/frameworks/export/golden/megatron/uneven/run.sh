#!/bin/bash
# Llama 2 13B on 128 chips of dgx-a100-80-hdr, 256 sequences of 4096 tokens a step.
# Plan: dp 16 tp 2 pp 4, micro-batch 1, zero1, recompute none, split explicit: 9,11*2,9, schedule 1f1b.
# Written by planner 0.1.0.
# For Megatron-LM, core 0.16.1, 55ac708251 (2026-03-16).

set -euo pipefail

MEGATRON_HOME=${MEGATRON_HOME:-.}

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

# The vocabulary of 32,000 tokens is not padded.
MODEL_ARGS=(
    --num-layers 40
    --hidden-size 5120
    --ffn-hidden-size 13824
    --swiglu
    --normalization RMSNorm
    --position-embedding-type rope
    --seq-length 4096
    --max-position-embeddings 4096
    --make-vocab-size-divisible-by 128
    --untie-embeddings-and-output-weights
    --disable-bias-linear
    --hidden-dropout 0.0
    --attention-dropout 0.0
)

ATTENTION_ARGS=(
    --num-attention-heads 40
    --kv-channels 128
)

# A step has 16 micro-batches on every data rank.
BATCH_ARGS=(
    --micro-batch-size 1
    --global-batch-size 256
)

# The 16 data ranks follow: 128 chips / (tp x cp x pp).
PARALLEL_ARGS=(
    --tensor-model-parallel-size 2
    --sequence-parallel
    --tp-comm-overlap
    --context-parallel-size 1
    --pipeline-model-parallel-size 4
    --pipeline-model-parallel-layout 'Et*9|(t*11|)*2t*9L'
)

# Collectives hide behind the computation where the prediction assumes it.
SHARDING_ARGS=(
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
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
    --vocab-size 32000
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
