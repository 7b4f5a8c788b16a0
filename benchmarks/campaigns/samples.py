"""Small undamaged files for `campaigns.inputs` that are kept nowhere else."""

from __future__ import annotations

import contextlib
import json
import sqlite3

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
ADJACENT = b"0 1 2\n1 2\n"
MATRIX = b"\n".join(b",".join(b"01"[at != other :][:1] for other in range(8)) for at in range(8))
WORKLOAD = b"""
name: mlp
batch: 24
word_bytes: 2
einsums:
- {name: up, rows: 2, inner: 256, outputs: 1024, copies: 1, has_weights: true}
- {name: down, inner: 1024, outputs: 256, inputs: [up], splits_inner: true}
"""
TRAFFIC = b"pairs:\n- {from: 0, to: 1, bytes: 1e6}\n- {from: 3, to: 4, bytes: 2e6}\n"
SITE = b"""
note: of a year
date: '2026-11-30'
failures: 62
exposure_chip_hours: 3145728.0
causes: {gpu: 40, network: 22}
inputs: [{file: jobs.csv, sha256: 0a1b}]
"""
GAPS = b"# between failures\n3.2h\n90  # s\n\n2min\n1.5d\n"
WORKERS = b"""
kind: slurm
workers: 4
options: {queue: main, cores: 8, memory: 16GB, walltime: '01:00:00'}
"""
LIKE = b"""
like: dgx-h100-ndr
name: mine
chip:
  like: h100-sxm5-80
  name: own
  memory: {bandwidth: {value: 6.7e+12, unit: B/s, kind: assumed, note: not measured}}
"""
LINKS = b"\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n" + b"".join(
    b"GPU%d\t%s\t0-55\n" % (at, b"\t".join(
        b" X " if at == other else b"NV1" if (at - other) % 4 in (1, 3) else b"SYS"
        for other in range(4)
    )) for at in range(4)
)  # fmt: skip
CONFIG = json.dumps({
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2,
    "intermediate_size": 16, "vocab_size": 32, "max_position_embeddings": 64,
    "torch_dtype": "bfloat16",
}).encode()  # fmt: skip
_SHAPES = {
    "model.embed_tokens.weight": [32, 8], "model.norm.weight": [8], "lm_head.weight": [32, 8],
    **{f"model.layers.{at}.{name}.weight": shape for at in range(2) for name, shape in {
        **{f"self_attn.{one}_proj": [8, 8] for one in "qkvo"},
        "mlp.gate_proj": [16, 8], "mlp.up_proj": [16, 8], "mlp.down_proj": [8, 16],
        "input_layernorm": [8], "post_attention_layernorm": [8],
    }.items()},
}  # fmt: skip
_HEADING = json.dumps({
    "__metadata__": {"format": "pt"},
    **{name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, 0]}
       for name, shape in _SHAPES.items()},
}).encode()  # fmt: skip
HEADER = len(_HEADING).to_bytes(8, "little") + _HEADING
INDEX = json.dumps({
    "metadata": {"total_size": 2080},
    "weight_map": dict.fromkeys(_SHAPES, "model-00001-of-00001.safetensors"),
}).encode()  # fmt: skip
FAILURES = b"start,end,chips,cause\n0,30.5,4096,gpu\n31,100,4096,network\n100.5,130,4096,\n"
GPUS = b"index, name, memory.total [MiB], pcie.link.gen.max, pcie.link.width.max\n" + b"".join(
    b"%d, NVIDIA H100 80GB HBM3, 81559 MiB, 5, 16\n" % at for at in range(8)
)
TOPOLOGY = (
    b"\t\x1b[4mGPU0\t\x1b[4mGPU1\t\x1b[4mNIC0\t\x1b[4mNIC1\t"
    b"\x1b[4mNIC2\t\x1b[4mCPU Affinity\x1b[0m\n"
    b"GPU0\t  X  \tNV18 \t PIX \t SYS \tNODE \t0-55\n"
    b"GPU1\tNV18 \t  X  \t SYS \t PIX \tNODE \t0-55\n"
    b"\n"
    b"Legend:\n"
    b"\n"
    b"  X    = Self\n"
    b"\n"
    b"NIC Legend:\n"
    b"\n"
    b"  NIC0: mlx5_0\n"
    b"  NIC1: mlx5_1\n"
    b"  NIC2: mlx5_2\n"
)
QUERY = (
    b"==============NVSMI LOG==============\n"
    b"\n"
    b"Attached GPUs : 1\n"
    b"GPU 00000000:0A:00.0\n"
    b"    Product Name                          : NVIDIA H100 80GB HBM3\n"
    b"    Product Brand                         : NVIDIA\n"
    b"    PCI\n"
    b"        Bus                               : 0x0A\n"
    b"        GPU Link Info\n"
    b"            PCIe Generation\n"
    b"                Max                       : 5\n"
    b"                Current                   : 1\n"
    b"                Device Max                : 6\n"
    b"            Link Width\n"
    b"                Max                       : 16x\n"
    b"                Current                   : 8x\n"
    b"    FB Memory Usage\n"
    b"        Total                             : 81559 MiB\n"
    b"        Used                              : 0 MiB\n"
    b"    BAR1 Memory Usage\n"
    b"        Total                             : 131072 MiB\n"
)
NCCL = (
    b"<!--\n"
    b" - a comment\n"
    b"-->\n"
    b'<system version="1">\n'
    b'  <cpu host_hash="0x0" numaid="0" arch="x86_64">\n'
    b'    <pci busid="0000:0a:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">\n'
    b'      <gpu dev="0" sm="90" rank="0" gdr="1">\n'
    b'        <nvlink target="0000:07:00.0" count="2" tclass="0x068000"/>\n'
    b'        <nvlink target="0000:06:00.0" count="2" tclass="0x068000"/>\n'
    b"      </gpu>\n"
    b"    </pci>\n"
    b'    <pci busid="0000:1a:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">\n'
    b'      <gpu dev="1" sm="90" rank="1" gdr="1">\n'
    b'        <nvlink target="0000:07:00.0" count="2" tclass="0x068000"/>\n'
    b'        <nvlink target="0000:06:00.0" count="2" tclass="0x068000"/>\n'
    b"      </gpu>\n"
    b"    </pci>\n"
    b"    <nic>\n"
    b'      <net name="eth0" dev="9" speed="10000" port="0" gdr="0"/>\n'
    b'      <net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/>\n'
    b"    </nic>\n"
    b"  </cpu>\n"
    b"</system>\n"
)
ROCM = (
    b"====== ROCm System Management Interface ======\n"
    b"===== Product Info =====\n"
    b"GPU[0]\t\t: Card Series: \t\tMI300X\n"
    b"GPU[1]\t\t: Card Series: \t\tMI300X\n"
    b"GPU[0]\t\t: VRAM Total Memory (B): 205520896000\n"
    b"GPU[1]\t\t: VRAM Total Memory (B): 205520896000\n"
    b"===== Hops between two GPUs =====\n"
    b"             GPU0         GPU1\n"
    b"\n"
    b"===== Link Type between two GPUs =====\n"
    b"             GPU0         GPU1\n"
    b"GPU0   0            XGMI         \n"
    b"GPU1   XGMI         0            \n"
    b"\n"
    b"===== Numa Nodes =====\n"
)
SLURM = (
    b"NodeName=n0 Arch=x86_64 CoresPerSocket=56\n"
    b"   CPUTot=224 CPULoad=0.1\n"
    b"   Gres=gpu:h100:8\n"
    b"   NodeAddr=n0 OS=Linux 5.15.0 #1 SMP\n"
    b"   State=MIXED Weight=1\n"
    b"   Partitions=main \n"
    b"   CfgTRES=cpu=224,gres/gpu=8\n"
)
PORTS = (
    b"CA 'mlx5_0'\n"
    b"\tCA type: MT4129\n"
    b"\tNumber of ports: 1\n"
    b"\tPort 1:\n"
    b"\t\tState: Active\n"
    b"\t\tPhysical state: LinkUp\n"
    b"\t\tRate: 400\n"
    b"\t\tLink layer: InfiniBand\n"
    b"CA 'mlx5_1'\n"
    b"\tCA type: MT4129\n"
    b"\tNumber of ports: 1\n"
    b"\tPort 1:\n"
    b"\t\tState: Active\n"
    b"\t\tPhysical state: LinkUp\n"
    b"\t\tRate: 100\n"
    b"\t\tLink layer: InfiniBand\n"
)
KERNELS = (
    "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
    "void cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16",
    "void at::native::vectorized_elementwise_kernel<4, ...>",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
)
KINETO = json.dumps({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#18", "pid": 1, "tid": 1,
     "ts": 1000.0, "dur": 400.0},
    *({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000.0 + 90 * at,
       "dur": 90.0} for at, name in enumerate(KERNELS)),
]}).encode()  # fmt: skip


def nsight() -> bytes:
    """A report of Nsight Systems, as its export to SQLite has it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        base.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, "
            "deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, "
            "demangledName INT NOT NULL, shortName INT NOT NULL)"
        )
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(KERNELS))
        base.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?)",
            [(90_000 * at, 90_000 * at + 80_000, at, at) for at in range(len(KERNELS))],
        )
        base.commit()
        return base.serialize()


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
EXPORTED = b"".join(
    b"step %d: loss 9.8765, 1.2345 s, 41.23 GiB, 256 sequences of 2048 tokens\n" % at
    for at in range(1, 9)
)
