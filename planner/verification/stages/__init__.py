"""A check of proofs whose stages differ: the integer programs of their rows, solved once more.

The programs are MPS files in an archive, so that any solver of such programs can read them; here
that is SCIP, which the search does not use. Begin with `checking`.
"""
