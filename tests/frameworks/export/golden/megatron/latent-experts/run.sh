#!/bin/bash
# DeepSeek-V3 on 256 chips of gb200-nvl72, 2048 sequences of 4096 tokens a step.
# Plan: dp 64 ep 64 pp 4, micro-batch 1, zero1, recompute full, split explicit: 16,15*3, schedule 1f1b.
# Written by planner 0.1.0.
# For Megatron-LM, core 0.16.1, 55ac708251 (2026-03-16).

set -euo pipefail

MEGATRON_HOME=${MEGATRON_HOME:-.}

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

# The vocabulary of 129,280 tokens is not padded.
MODEL_ARGS=(
    --num-layers 61
    --hidden-size 7168
    --ffn-hidden-size 18432
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
    --num-attention-heads 128
    --kv-channels 128
    --multi-latent-attention
    --q-lora-rank 1536
    --kv-lora-rank 512
    --qk-head-dim 128
    --qk-pos-emb-head-dim 64
    --v-head-dim 128
    --rope-type yarn
    --rotary-scaling-factor 1.0
    --qk-layernorm
)

# The prediction assumes that all experts get as many tokens.
MOE_ARGS=(
    --num-experts 256
    --moe-layer-freq '[0]*3+[1]*58'
    --moe-ffn-hidden-size 2048
    --moe-shared-expert-intermediate-size 2048
    --moe-router-topk 8
    --moe-router-num-groups 8
    --moe-router-group-topk 4
    --moe-router-score-function sigmoid
    --moe-router-enable-expert-bias
    --moe-router-load-balancing-type seq_aux_loss
    --moe-aux-loss-coeff 1e-4
    --moe-router-dtype fp32
    --moe-token-dispatcher-type alltoall
    --moe-grouped-gemm
    --moe-permute-fusion
    --moe-router-fusion
)

# A step has 32 micro-batches on every data rank.
BATCH_ARGS=(
    --micro-batch-size 1
    --global-batch-size 2048
)

# The 64 data ranks follow: 256 chips / (tp x cp x pp).
PARALLEL_ARGS=(
    --tensor-model-parallel-size 1
    --context-parallel-size 1
    --expert-model-parallel-size 64
    --expert-tensor-parallel-size 1
    --pipeline-model-parallel-size 4
    --pipeline-model-parallel-layout 'Et*16|(t*15|)*2t*15L'
)

# Collectives hide behind the computation where the prediction assumes it.
SHARDING_ARGS=(
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
    --ckpt-format torch_dist
)

MEMORY_ARGS=(
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
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
    --vocab-size 129280
    --split 99,1,0
    --no-create-attention-mask-in-dataloader
)

torchrun "${DISTRIBUTED_ARGS[@]}" \
    "$MEGATRON_HOME/pretrain_gpt.py" \
    "${MODEL_ARGS[@]}" \
    "${ATTENTION_ARGS[@]}" \
    "${MOE_ARGS[@]}" \
    "${BATCH_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" \
    "${SHARDING_ARGS[@]}" \
    "${MEMORY_ARGS[@]}" \
    "${PRECISION_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${DATA_ARGS[@]}"
