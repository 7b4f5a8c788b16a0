"""Hugging Face transformers: models as its configurations, and the attention kernels that it runs.

Used by the frameworks that train its models: Accelerate and DeepSpeed. Begin with `config`.
"""
