#!/bin/bash
torchrun --nnodes 2 --nproc_per_node 8 scripts/training/run_recipe.py \
  --recipe llama3_8b_pretrain_config --max_steps 100 \
  model.tensor_model_parallel_size=4 train.global_batch_size=64
