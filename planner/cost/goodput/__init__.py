"""What a run takes beyond its steps: failures, checkpoints, restarts, stragglers and spares.

`segments` has the closed forms of a segment between two checkpoints and its best length; begin
there.
"""
