"""My cluster: outputs of tools on a node become a cluster file.

`formats` recognises outputs by their content and `readers` has one file per format; `tools` runs
the tools of this node. `node` makes one description of them and names contradictions, `chips` finds
the record of the chip, `levels` the network, `cluster` the file, in which numbers that were not
seen are assumed. Begin with `cluster`.
"""
