"""JAX: the rules of its meshes, and a Python file with the mesh and the partition of every array.

MaxText shares the rules. `axes` names the axes of a mesh, `specs` the partitions, `write` prints
the file. Imports what frameworks share. Begin with `rules`.
"""
