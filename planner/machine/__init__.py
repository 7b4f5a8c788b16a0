"""The machine that a question means: wiring, ports, degraded links, PEs per chip, pools, slices.

Each module reads one way to change a machine as text, checks it and applies it to records of
`hardware_db`; `detection` makes a cluster file of what the tools of a node print. Imports
`cost` and what lies below. Begin with `wiring`, `scaling` or `detection.cluster`.
"""
