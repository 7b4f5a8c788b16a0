"""Hugging Face TRL: SFT and DPO, over Accelerate and PEFT. Begin with `write`."""
