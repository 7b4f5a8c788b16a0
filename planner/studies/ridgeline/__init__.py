"""Ridgelines: which of compute, memory and network binds a piece of work.

`question` reads, `of_layer`, `of_plan` and `points` count, `plane` finds regions, `machine` has the
ridges. Begin with `asking`.

Source: Checconi, Tithi, Petrini, Ridgeline: A 2D Roofline Model for Distributed Systems,
arXiv:2209.01368.
"""
