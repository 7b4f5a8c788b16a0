"""The version of this package, and that of its files and JSON documents."""

__version__ = "0.1.0"
SCHEMA_VERSION = 1
RESULT_VERSION = 2
"""Of the documents of `planner solve`: 2 since they are made of parts; 1 is still read."""
