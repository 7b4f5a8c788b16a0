"""A plan as execution traces in MLCommons' Chakra format, for simulators such as ASTRA-sim.

`work` says what a layer computes, moves and sends, `stage` puts it in the order of the simulated
timeline, `ranks` names the groups of each rank, `schema` reads the public schema (`et_def.proto`)
and `trace` writes the files. Only `schema` and `trace` need protobuf. Begin with `trace`.
"""
