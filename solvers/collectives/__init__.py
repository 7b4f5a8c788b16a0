"""Schedules of collectives on a graph of links: bounds, synthesis, proof.

There is one file per bound, construction or search. A collective is a set of chunks, each with the
nodes that have it at the start and those that must have it at the end (`problem`). A schedule sends
chunks over links in S steps; step s lasts r_s rounds, and in a round each lane of a link carries
one chunk (`schedule`). With L bytes cut into C chunks it takes S alpha + (R / C) L beta seconds, R
= sum of r_s. Imports nothing but `solvers`. Begin with `problem`, `schedule` and `synthesis`.

Source of the model: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620 ("k-synchronous algorithms").
"""
