"""Bytes that one chip holds: parameters, optimizer, gradients, activations in flight.

`memory` adds them up per class of pipeline stages, `state` has weights, gradients and optimizer,
`in_flight` counts micro-batches, `risk` says how likely a plan runs out. Begin with `memory`.
"""
