"""Algorithms for the MSCCL runtime: XML from a schedule and back, its limits, an interpreter.

`xml` writes, `read` reads, `limits` says what the runtime refuses, and `run` executes a file and
tells whether the collective comes about. Begin with `program`, the data between them.
"""
