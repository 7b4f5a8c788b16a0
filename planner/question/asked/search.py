"""Fields that say what is looked for, within which limits, and what of the whole run is wanted."""

from __future__ import annotations

from planner.base.vocabulary import PER_OPERATION
from planner.question.asked.field import LIMITS, MACHINE, POWER, RUN, SEARCH, Asked
from planner.question.asked.usual import COOLING, FRONT_POINTS, LEAST_PUE, MOST_PUE, OOM_RISK

SEARCH_FIELDS = (
    Asked(
        name="objective",
        help="What the best plan minimizes: {objectives}",
        more="Energy and power are those of nodes and fabric (PUE 1)",
        panel=SEARCH,
        kind="name",
        default="time",
        few="Least of: {objectives}.",
    ),
    Asked(
        name="front",
        help="Objectives of the front: {fronts}",
        panel=SEARCH,
        kind="names",
        default=("time", "energy"),
        default_text="that of the objective",
    ),
    Asked(
        name="chips_exact",
        help=(
            "Plans use all of the chips that --chips gives, or none is the answer (default: the "
            "most below, where no uniform plan fits on all); where budgets alone end their number, "
            "the most that they allow"
        ),
        panel=SEARCH,
        kind="switch",
        default_text="the most below, where no uniform plan fits on all",
    ),
    Asked(
        name="axes",
        help="Mesh axes that may exceed 1, e.g. fsdp,tp",
        panel=SEARCH,
        kind="words",
        default_text="all",
    ),
    Asked(
        name="fix",
        help=(
            "Fix a field of the plan, e.g. pp=8 or sharding=zero1,zero3 (repeatable). With uneven "
            "stages sharding and recompute are what each stage and layer may take"
        ),
        panel=SEARCH,
        kind="choices",
        default={},
        metavar="FIELD=VALUES",
    ),
    Asked(
        name="layout",
        help=(
            "Pipeline stages: uniform, uneven (layers, recomputation, sharding and clock of each "
            "are decided, proved over all meshes), or the layers of every chunk, e.g. 7,8*14,7 "
            "(8*14: 14 chunks of 8), of which the rest is decided"
        ),
        panel=SEARCH,
        kind="text",
        default="uniform",
        page="uneven.md",
    ),
    Asked(
        name="gap",
        help=(
            "Stop when no plan can be better by more than this, e.g. 0.01 or 1% (uneven stages and "
            "pools; uniform plans are always searched to the end)"
        ),
        panel=SEARCH,
        kind="share",
        default_text="proved optimal",
    ),
    Asked(
        name="front_points",
        help=(
            "With uneven stages: at most so many time limits of the front, or all for the exact "
            "whole front"
        ),
        panel=SEARCH,
        kind="whole",
        default_text=str(FRONT_POINTS),
    ),
    Asked(
        name="offload",
        help="State and activations may move to the host",
        panel=SEARCH,
        kind="switch",
        default=False,
        default_text="they stay",
    ),
    Asked(
        name="placement",
        help=(
            "Orders of the axes: framework (its rank layouts), all, or torus (all, and parts of "
            "the axes along the physical axes of a torus)"
        ),
        panel=SEARCH,
        kind="word",
        default="framework",
    ),
    Asked(
        name="runnable_in",
        help=(
            "Only plans that these can run as they are, e.g. {target}; several: runnable in all "
            "of {all-targets} that are named, in the version that export writes by default; any: "
            "every plan of the framework"
        ),
        replacing=(
            "Also warn of what these cannot run as it is in their default version, e.g. "
            "{two-targets}"
        ),
        panel=SEARCH,
        kind="names",
        default_text="what launches the framework",
        metavar="TARGET,...",
        page="export.md",
    ),
    Asked(
        name="resume_from",
        help=(
            "A run that exists: its plan file, a row of a front such as front.json:2, its launch, "
            "or its mesh such as tp=4,pp=2,dp=8. Only plans that the framework can load its "
            "checkpoint into"
        ),
        panel=SEARCH,
        kind="text",
        metavar="LAYOUT",
        page="export.md#a-run-that-exists",
        file=True,
    ),
    Asked(
        name="checkpoint",
        help="Form of the checkpoint of --resume-from: {checkpoints}",
        panel=SEARCH,
        kind="name",
        default_text="the usual one of the framework",
        page="export.md#a-run-that-exists",
    ),
    Asked(
        name="clocks",
        help=(
            "Clock levels are a decision where the chip has them, or full clock only; "
            "per-operation: also what a clock for every pass saves on the front, with the bound "
            "over all plans"
        ),
        panel=SEARCH,
        kind="switch",
        also=PER_OPERATION,
        default=True,
        default_text="they are, one for each plan",
        page="model/clocks.md#a-clock-for-every-operation-over-all-plans",
    ),
    Asked(
        name="time_limit",
        help="Stop the search after this long, e.g. 10s; the bound stays valid",
        panel=SEARCH,
        kind="quantity",
        default_text="no limit",
        unit="seconds",
    ),
    Asked(
        name="pes",
        help="Processing elements per chip, e.g. 64,132,264; several are a decision",
        panel=MACHINE,
        kind="wholes",
        default_text="the record's",
    ),
    Asked(
        name="topology",
        help=(
            "Wirings of the scale-up level, e.g. ring,torus,switch; of the network cards after "
            "scale-out=, e.g. scale-out=fat-tree,torus"
        ),
        panel=MACHINE,
        kind="texts",
        default=(),
        default_text="the record's",
        page="model/machines.md#machines",
    ),
    Asked(
        name="scale",
        help="What grows with the PEs: memory, links, network",
        panel=MACHINE,
        kind="words",
        default=(),
        default_text="nothing",
    ),
    Asked(
        name="total_pes",
        help="Most PEs of all chips, e.g. 8192x132",
        panel=MACHINE,
        kind="whole",
    ),
    Asked(
        name="max_area",
        help="Most silicon of all chips, e.g. 6.7e6 (mm^2) or 6000mm2",
        panel=MACHINE,
        kind="quantity",
        unit="mm^2",
    ),
    Asked(
        name="max_links",
        help="Most links of all levels",
        panel=MACHINE,
        kind="quantity",
    ),
    Asked(
        name="max_ports",
        help="Most ports of a chip; a switched level takes one",
        panel=MACHINE,
        kind="quantity",
    ),
    Asked(
        name="max_memory",
        help="Bytes per chip a plan may fill, e.g. 72GB",
        replacing=(
            "Bytes per chip a plan may fill, e.g. 72GB (default: the file's, or the framework's "
            "share of the chip)"
        ),
        panel=LIMITS,
        kind="quantity",
        default_text="the framework's share",
        unit="bytes",
    ),
    Asked(
        name="memory_margin",
        help=(
            "Share of the chip's memory, less the framework's reserve, that a plan may fill, e.g. "
            "0.8 or 80%"
        ),
        replacing=(
            "Share of the chip's memory, less the framework's reserve, that a plan may fill, e.g. "
            "0.8 (default: the file's, or the framework's)"
        ),
        panel=LIMITS,
        kind="share",
        default_text="the framework's, mostly 0.9",
    ),
    Asked(
        name="max_oom_risk",
        help=(
            "Most chance of running out of memory that a plan may have, e.g. 0.1 or 10%; 100%: "
            "any, within the framework's share"
        ),
        panel=LIMITS,
        kind="share",
        default_text=f"{OOM_RISK:.0%}; 100% where another field limits memory",
        page="model/memory.md",
    ),
    Asked(
        name="max_power",
        help="Mean power of the whole job at --power-boundary, e.g. 10MW",
        panel=LIMITS,
        kind="quantity",
        unit="watts",
    ),
    Asked(
        name="power_boundary",
        help=(
            "Where --max-power holds: chip (chips alone), node (with hosts), node_and_fabric (with "
            "the network, PUE 1) or facility (PUE times that)"
        ),
        more="Also chips, nodes and it",
        panel=LIMITS,
        kind="word",
        default="facility",
        page="model/energy.md",
    ),
    Asked(
        name="max_step_time",
        help="Longest step, e.g. 2s",
        panel=LIMITS,
        kind="quantity",
        unit="seconds",
    ),
    Asked(
        name="min_mfu",
        help="Least MFU, e.g. 0.4 or 40%",
        panel=LIMITS,
        kind="share",
    ),
    Asked(
        name="deadline",
        help=(
            "Longest wall time of the whole run, failures included, e.g. 60d, or with a chance, "
            "60d@90%"
        ),
        more="Of the mean time; with a chance of what it stays within at that chance",
        panel=LIMITS,
        kind="quantity",
        unit="seconds",
        page="goodput.md#how-many-chips",
    ),
    Asked(
        name="budget",
        help="Most money of the whole run, e.g. 5M: chip-hours, and priced electricity",
        panel=LIMITS,
        kind="quantity",
        page="goodput.md#how-many-chips",
    ),
    Asked(
        name="max_run_energy",
        help="Most energy of the whole run with the facility, e.g. 20GWh",
        panel=LIMITS,
        kind="quantity",
        unit="joules",
        page="goodput.md#how-many-chips",
    ),
    Asked(
        name="power_cap",
        help="Power limit of each chip, e.g. 500W: lowers its clock",
        panel=POWER,
        kind="quantity",
        default_text="rated power",
        unit="watts",
    ),
    Asked(
        name="cooling",
        help="Of the nodes: air or liquid, where the chip's record has both",
        panel=POWER,
        kind="word",
        default_text=COOLING,
    ),
    Asked(
        name="pue",
        help=f"Power of the facility over that of its machines, {LEAST_PUE} to {MOST_PUE}",
        panel=POWER,
        kind="number",
        default_text="1.1",
        page="model/energy.md",
    ),
    Asked(
        name="train_tokens",
        help="Tokens of the whole run: adds days and MWh, e.g. 2e12",
        replacing="Tokens of the whole run: adds days and MWh",
        panel=RUN,
        kind="quantity",
        unit="tokens",
    ),
    Asked(
        name="price_per_chip_hour",
        help="Adds the price of the run",
        more=(
            "Money per chip and hour, which the objective money counts too; without it that counts "
            "chip-hours"
        ),
        replacing="Adds the price of the run",
        panel=RUN,
        kind="number",
    ),
    Asked(
        name="electricity_price",
        help="Money per kWh: adds what the electricity of the run costs, the facility's included",
        more=(
            "Beside the price of chip-hours; the objective money counts those alone, run-money both"
        ),
        replacing="Money per kWh: adds what the electricity of the run costs",
        panel=RUN,
        kind="number",
    ),
    Asked(
        name="carbon_intensity",
        help="Grams of CO2 per kWh: adds the CO2 of the run",
        replacing="Grams of CO2 per kWh: adds the CO2 of the run",
        panel=RUN,
        kind="number",
        unit="grams",
    ),
)
