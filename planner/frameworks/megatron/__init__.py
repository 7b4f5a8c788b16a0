"""Megatron-LM and Megatron-Bridge: rules, arguments of pretrain_gpt.py, and launches read back.

`rules`, `recompute` and `kernels` say what runs; `write` uses `writing`, `read` uses `reading`, and
`bridge` writes the same plan for Megatron-Bridge. Imports what frameworks share. Begin with
`rules`.
"""
