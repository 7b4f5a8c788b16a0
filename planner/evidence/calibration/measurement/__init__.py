"""Microbenchmarks of the device at hand: multiplications, attention, copies, power.

Only `torch_device` needs PyTorch, and only when it measures. Begin with `measure`.
"""
