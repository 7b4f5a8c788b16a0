"""Hugging Face Accelerate with PyTorch FSDP: its rules, its configuration and a training script.

Change `rules` where Accelerate runs other plans than before, `write` for keys of its configuration.
Imports what frameworks share. Begin with `rules`.
"""
