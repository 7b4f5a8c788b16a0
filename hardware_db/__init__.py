"""Facts about hardware: chips, links, clusters and calibration constants, each with its source.

Importing this package reads no file and imports neither pydantic nor ruamel.yaml; the functions
that load records do. Shipped records are addressed by name, a user's own by the path of a YAML file
with the same schema (`json_schemas`, and `data/examples/my-cluster.yaml` for a complete example).
There is one file per kind of record, per schema of its files, and per step from file to record.
"""

from hardware_db.chip import Chip
from hardware_db.cluster import Allocation, Cluster, Level, TorusRules
from hardware_db.constants import Calibration, Reference
from hardware_db.description import Row, describe
from hardware_db.errors import HardwareError
from hardware_db.frozen_map import FrozenMap
from hardware_db.loading import (
    constants_hash,
    database_hash,
    facts_hash,
    json_schemas,
    list_calibrations,
    list_chips,
    list_clusters,
    list_references,
    load_calibration,
    load_chip,
    load_cluster,
    load_reference,
    record_text,
)
from hardware_db.quantity import Quantity, Source

__all__ = [
    "Allocation",
    "Calibration",
    "Chip",
    "Cluster",
    "FrozenMap",
    "HardwareError",
    "Level",
    "Quantity",
    "Reference",
    "Row",
    "Source",
    "TorusRules",
    "constants_hash",
    "database_hash",
    "describe",
    "facts_hash",
    "json_schemas",
    "list_calibrations",
    "list_chips",
    "list_clusters",
    "list_references",
    "load_calibration",
    "load_chip",
    "load_cluster",
    "load_reference",
    "record_text",
]
