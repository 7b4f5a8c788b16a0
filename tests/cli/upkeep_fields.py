"""Fields about how a whole run is kept going, each with a value and the flags that mean it."""

from __future__ import annotations

from typing import Any

_TEXTS: dict[str, tuple[Any, str]] = {
    "mtbf": (10800, "3h"),
    "chip_hours_per_failure": (5e4, "50k"),
    "failure_site": ("rsc-1", "rsc-1"),
    "checkpoint_store": (2e11, "200GB/s"),
    "checkpoint_writes": ("blocking", "blocking"),
    "detection": (60, "1min"),
    "restart": (300, "5min"),
    "spares": (1, "1"),
    "repair": (3600, "1h"),
    "straggler_loss": (0.05, "5%"),
    "failure_domain": ("rail", "rail"),
    "on_failure": ("shrink", "shrink"),
    "maintenance": (0.02, "2%"),
}
PRICED = ("price_per_chip_hour", "carbon_intensity", "electricity_price", "prices")
PEERS = {"checkpoint_writes": "peer-memory"}
OF_UPKEEP: dict[str, tuple[Any, tuple[str, ...]]] = {
    name: (value, (f"--{name.replace('_', '-')}", text, "--train-tokens", "1T"))
    for name, (value, text) in _TEXTS.items()
} | {
    "peer_covers": (
        0.9,
        ("--peer-covers", "90%", "--checkpoint-writes", "peer-memory", "--train-tokens", "1T"),
    ),
    "while_down": (False, ("--no-while-down", "--train-tokens", "1T")),
    "deadline": (5184000, ("--deadline", "60d", "--train-tokens", "1T")),
    "max_run_energy": (1.8e12, ("--max-run-energy", "500MWh", "--train-tokens", "1T")),
    "budget": (
        1e6,
        ("--budget", "1M", "--price-per-chip-hour", "2.5", "--train-tokens", "1T"),
    ),
}
