"""Ridgelines: which of compute, memory and network binds a piece of work.

Source: Checconi, Tithi, Petrini, Ridgeline: A 2D Roofline Model for Distributed Systems,
arXiv:2209.01368.
"""
