"""Search: the space of plans, its separable cost tables, the exact optimum and front."""
