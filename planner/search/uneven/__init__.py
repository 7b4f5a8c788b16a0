"""The search over uneven pipelines: layers, recomputation, sharding and clock of every stage."""
