"""Racks of small accelerators: operators, parallelism and topology, in latency and energy.

Workloads are lists of operators instead of transformers, so that a student's layer, a convolution
or an attention block can be split over chips and costed level by level of the memory. `model` is
the cost model, and a folder for each command stands beside it. Begin with `model.evaluate`.
"""
