"""A plan as flags of Megatron-LM: the model, the mesh, the environment, the script that starts it.

A new flag of a plan belongs to `parallel`, one of the model to `model`. `lost` says what no flag
tells. Imports `planner.frameworks.writing`.
"""
