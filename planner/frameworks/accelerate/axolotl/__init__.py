"""Axolotl: one YAML file for SFT and DPO, over FSDP of PyTorch. Begin with `write`."""
