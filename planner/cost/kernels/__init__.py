"""Seconds of the kernels of one chip: matrix multiplications, attention, element-wise work.

`shapes` and `linears` turn a model into shapes, `compute` gives seconds of shapes, `layer` adds one
transformer layer up by cause. Begin with `layer`.
"""
