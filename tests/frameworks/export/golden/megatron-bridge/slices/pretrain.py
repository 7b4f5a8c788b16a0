# Llama 2 70B on 512 chips of tpu-v5p, 1024 sequences of 4096 tokens a step.
# Plan: fsdp 128 tp 4, micro-batch 1, zero3, recompute full, split even.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

import torch
from megatron.bridge.recipes.gpt.vanilla_gpt import vanilla_gpt_pretrain_config
from megatron.bridge.training.config import MockGPTDatasetConfig
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import bf16_mixed
from megatron.bridge.training.pretrain import pretrain
from torch.nn.functional import silu

cfg = vanilla_gpt_pretrain_config()
cfg.mixed_precision = bf16_mixed()
cfg.mixed_precision.grad_reduce_in_fp32 = True
cfg.dataset = MockGPTDatasetConfig(
    seq_length=4096,
    random_seed=1234,
    split="9999,8,2",
    reset_position_ids=False,
    reset_attention_mask=False,
    eod_mask_loss=False,
)

cfg.model.should_pad_vocab = True
cfg.ddp.use_distributed_optimizer = True
cfg.optimizer.use_distributed_optimizer = True
cfg.model.apply_rope_fusion = True
cfg.model.bias_activation_fusion = True
cfg.model.bias_dropout_fusion = True
cfg.model.persist_layer_norm = True
cfg.model.cross_entropy_loss_fusion = False
cfg.model.num_layers = 80
cfg.model.hidden_size = 8192
cfg.model.ffn_hidden_size = 28672
cfg.model.gated_linear_unit = True
cfg.model.activation_func = silu
cfg.model.normalization = "RMSNorm"
cfg.model.position_embedding_type = "rope"
cfg.model.seq_length = 4096
cfg.model.make_vocab_size_divisible_by = 1
cfg.model.share_embeddings_and_output_weights = False
cfg.model.add_bias_linear = False
cfg.model.hidden_dropout = 0.0
cfg.model.attention_dropout = 0.0
cfg.model.num_attention_heads = 64
cfg.model.num_query_groups = 8
cfg.model.kv_channels = 128
cfg.train.micro_batch_size = 1
cfg.train.global_batch_size = 1024
cfg.model.tensor_model_parallel_size = 4
cfg.model.sequence_parallel = True
cfg.model.context_parallel_size = 1
cfg.model.pipeline_model_parallel_size = 1
cfg.dist.use_megatron_fsdp = True
cfg.ddp.use_megatron_fsdp = True
cfg.ddp.data_parallel_sharding_strategy = "optim_grads_params"
cfg.ddp.overlap_grad_reduce = True
cfg.ddp.overlap_param_gather = True
cfg.model.init_model_with_meta_device = True
cfg.checkpoint.ckpt_format = "fsdp_dtensor"
cfg.model.recompute_granularity = "full"
cfg.model.recompute_method = "uniform"
cfg.model.recompute_num_layers = 1
cfg.train.train_iters = 100
cfg.optimizer.lr = 0.0001
cfg.optimizer.clip_grad = 1.0
cfg.validation.eval_iters = 0
cfg.validation.eval_interval = 1000
cfg.logger.log_interval = 1
cfg.logger.log_throughput = True
cfg.tokenizer.tokenizer_type = "NullTokenizer"
cfg.tokenizer.vocab_size = 32000
cfg.ddp.megatron_fsdp_main_grads_dtype = torch.float32

pretrain(config=cfg, forward_step_func=forward_step)
