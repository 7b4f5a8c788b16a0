"""Inside one chip: its processing elements, its memories, and how operators are tiled over them.

`chip_array` describes the array, `tiling` finds the least traffic, `within_chip` gives seconds and
joules of an operator, `pes` says what grows with the number of PEs. Begin with `within_chip`.
"""
