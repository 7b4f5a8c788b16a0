"""Small undamaged files for `campaigns.inputs` that are kept nowhere else."""

JOB = b"""
model: gpt3-125m
hardware: h100-sxm5-80
chips: 8
batch_tokens: 524288
seq_len: 2048
precision: bf16
job: lora
lora_rank: 16
framework: megatron
era: megatron-core
assumptions: calibrated
objective: time
front: [time, energy]
axes: [tp, dp]
fix: {tp: [1, 2], recompute: none}
offload: false
placement: framework
clocks: true
max_memory: 80GB
max_power: 1MW
max_step_time: 100
min_mfu: 0.01
time_limit: 60
train_tokens: 1e12
price_per_chip_hour: 2
carbon_intensity: 400
electricity_price: 0.08
"""
PLAN = b"""
schema_version: 1
job: {model: llama3-8b, hardware: h100-sxm5-80, batch_tokens: 524288, seq_len: 8192,
  precision: bf16, job: pretrain, framework: megatron, era: megatron-core, assumptions: calibrated}
plan: {mesh: {fsdp: 8}, micro_batch: 1, schedule: 1f1b, interleave: 1, sharding: zero3,
  recompute: full, placement: [tp, cp, fsdp, dp, pp], split: even, clock: 1.0}
"""
STUDY = b"""
job: {model: gpt3-125m, hardware: h100-sxm5-80, axes: dp, clocks: false, batch_tokens: 512Ki}
cross: {chips: [8, 9, 16]}
where: [chips > 7]
"""
ASSUMPTIONS = b"""
tp_overlap: 0.5
cp_overlap: 0.7
scale_up_efficiency: 0.8
step_s: 0.001
host_s_per_layer: 1.0e-5
ring_hop_s: 1.0e-6
tile_m: 128
fused_attention: true
jitter: 0.02
moe_imbalance: 1.1
bucket_bytes: 2.5e7
"""
GRAPH_JSON = b"""
{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}], "edges": [{"source": 0, "target": 1, "links": 2},
 {"source": 1, "target": 2, "price": 3.5}, {"source": 0, "target": 2}]}
"""
GRAPHML = b"""
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d" for="edge" attr.name="links" attr.type="int"/>
<graph edgedefault="undirected"><node id="0"/><node id="1"/><node id="2"/>
<edge source="0" target="1"><data key="d">2</data></edge>
<edge source="1" target="2"/><edge source="0" target="2"/></graph></graphml>
"""
EDGES = b"0 1 {'links': 2}\n1 2 {'price': 3.5}\n0 2 {}\n"
MATRIX = b"\n".join(b",".join(b"01"[at != other :][:1] for other in range(8)) for at in range(8))
WORKLOAD = b"""
name: mlp
einsums:
- {name: up, ranks: {b: 64, d: 256, f: 1024}, inputs: [[b, d], [d, f]], output: [b, f]}
"""
FAILURES = b"start,end,chips,cause\n0,30.5,4096,gpu\n31,100,4096,network\n100.5,130,4096,\n"
GPUS = b"index, name, memory.total [MiB], pcie.link.gen.max, pcie.link.width.max\n" + b"".join(
    b"%d, NVIDIA H100 80GB HBM3, 81559 MiB, 5, 16\n" % at for at in range(8)
)
LOG = b"".join(
    b" iteration %d/ 100 | elapsed time per iteration (ms): %d.0 | global batch size: 256 |"
    b" lm loss: 9.0 |\n" % (at, 900 + at)
    for at in range(1, 9)
)
MEGATRON = b"""#!/bin/bash
NODES=2
ARGS=(--tensor-model-parallel-size 2 --sequence-parallel)
if [ "$NODES" -gt 1 ]; then ARGS+=(--use-distributed-optimizer); fi
torchrun --nproc-per-node 8 --nnodes $NODES pretrain_gpt.py "${ARGS[@]}" \\
  --pipeline-model-parallel-size 2 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --ffn-hidden-size 11008 --swiglu --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 1 --global-batch-size 64 --bf16 --log-interval 10 --lr 1e-4 \\
  --untie-embeddings-and-output-weights --normalization RMSNorm --disable-bias-linear
"""
