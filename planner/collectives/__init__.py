"""Collectives on named machines and graphs: bounds, synthesis, simulation, comparison, export."""
