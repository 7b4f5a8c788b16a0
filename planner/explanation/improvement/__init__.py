"""Better plans that few changes reach: the nearest to one plan, by how many decisions differ.

`space` lists them, `improving` evaluates all and takes the best of each number, `answer` holds
them. Begin with `improving`.
"""
