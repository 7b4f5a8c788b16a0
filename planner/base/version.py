"""The version of this package, and that of its files and JSON documents."""

__version__ = "0.1.0"
SCHEMA_VERSION = 1
