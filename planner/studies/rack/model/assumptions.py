"""What the reports leave out or read in more than one way, as data."""

from __future__ import annotations

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of

BASES = ("per_gpu", "network", "per_link")
RING_READINGS = ("slowest_link", "chunk_path")
TENSOR_SPLITS = ("columns", "megatron")
STAGE_TRANSFERS = ("sharded", "copies")
WEIGHT_LOADS = ("once", "per_micro_batch", "per_row")


@dataclass(frozen=True, slots=True, kw_only=True)
class RackAssumptions:
    """The simplifications of a rack model.

    Attributes:
        basis: What the bandwidth T of uniform traffic belongs to. `per_gpu`: every chip injects
            T, so N chips carry N T. `network`: T is the whole network's, as the report prints it.
            `per_link`: every link carries T.
        hides_fetch: A chip computes while it fetches the weights of the next layer: latency is the
            larger of both, else their sum.
        hides_collectives: The same for the other communication.
        ring_reading: Time of a ring collective: its steps on the slowest link, or the path of one
            chunk over all links, which the report prints.
        ring_hops: Whether ring neighbours that are no neighbours in the topology cost a hop per
            link between them; without it every step of a ring is one hop.
        tensor_split: Tensor parallelism splits the outputs of every weight matrix (the report), or
            outputs and inner dimension in turns (Megatron).
        stage_transfers: Ranks of a stage send their shards to the next one, or each receives a
            copy of all rows.
        gathers_inside_stages: Whether tensor parallelism gathers and scatters within the stages of
            a pipeline too.
        scores_stay: Whether stages of einsums without weights, one after the other, pool their
            chips, so that what they pass on (attention scores) does not travel.
        bubbles: Whether stages wait while a pipeline fills and drains.
        backward: Whether the communication of the backward pass counts.
        backward_compute: Arithmetic of the backward pass over that of the forward pass.
        main_memory: Whether weights and inputs come from the host's memory, and results go there.
        weight_loads: How often a pipeline of several stages loads its weights from main memory:
            once, as chips that keep their stage do; anew for each micro-batch; or anew for each
            row, as where nothing is kept between two rows.
        shared_memory_chips: Chips that main memory feeds at their own rate, beside computing; more
            chips share that rate. 0: loading takes no time.
        latencies: Whether messages take time before their first byte.
        static_power: Whether chips draw their idle power all the time.
    """

    basis: str = "per_gpu"
    hides_fetch: bool = True
    hides_collectives: bool = False
    ring_reading: str = "slowest_link"
    ring_hops: bool = False
    tensor_split: str = "columns"
    stage_transfers: str = "sharded"
    gathers_inside_stages: bool = True
    scores_stay: bool = False
    bubbles: bool = True
    backward: bool = False
    backward_compute: float = 0.0
    main_memory: bool = False
    weight_loads: str = "once"
    shared_memory_chips: int = 0
    latencies: bool = False
    static_power: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (
            ("basis", BASES),
            ("ring_reading", RING_READINGS),
            ("tensor_split", TENSOR_SPLITS),
            ("stage_transfers", STAGE_TRANSFERS),
            ("weight_loads", WEIGHT_LOADS),
        ):
            if (given := getattr(self, name)) not in allowed:
                raise InputError(f"{name.replace('_', '-')}: {not_one_of(given, allowed)}")


RACK_ZERO = RackAssumptions()
"""Report on ZeRO: inference, weight fetches over uniform traffic hidden behind computing."""
RACK_ENERGY = RackAssumptions(backward=True, main_memory=True)
"""Report on energy and latency: forward computing, rings, nothing of both passes hidden."""
