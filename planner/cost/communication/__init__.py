"""What a plan sends: collectives of layers, data parallelism, copies of a model, and the bytes.

`exchanges` has the seconds of a layer by mesh axis, `data_parallel` the reduction of gradients and
the gathering of weights, `traffic` the bytes on each level. Rates come from `planner.network`.
Begin with `exchanges`.
"""
