"""Arguments of Megatron-LM read as a job and a plan, one subject of arguments per module.

`names` lists every argument, `classes` says what becomes of those that no plan holds. A new
argument is a line of `names` and, where it changes the plan, a line of the module of its subject.
"""
