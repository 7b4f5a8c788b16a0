"""Megatron-Bridge: a program that fills in a recipe, a script, and overrides.

`keys` turns flags of Megatron-LM into its keys, `derived` states what Megatron-LM derives by
itself. Imports `megatron.writing`. Begin with `write`.
"""
