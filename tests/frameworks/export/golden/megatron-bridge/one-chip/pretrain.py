# GPT-3 Small on 1 chips of dgx-h100-ndr, 8 sequences of 2048 tokens a step.
# Plan: one chip, micro-batch 4, ddp, recompute none, split even.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

from megatron.bridge.recipes.gpt.vanilla_gpt import vanilla_gpt_pretrain_config
from megatron.bridge.training.config import MockGPTDatasetConfig
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import bf16_mixed
from megatron.bridge.training.pretrain import pretrain

cfg = vanilla_gpt_pretrain_config()
cfg.mixed_precision = bf16_mixed()
cfg.mixed_precision.grad_reduce_in_fp32 = False
cfg.dataset = MockGPTDatasetConfig(
    seq_length=2048,
    random_seed=1234,
    split="9999,8,2",
    reset_position_ids=False,
    reset_attention_mask=False,
    eod_mask_loss=False,
)

cfg.model.should_pad_vocab = True
cfg.ddp.use_distributed_optimizer = False
cfg.optimizer.use_distributed_optimizer = False
cfg.model.apply_rope_fusion = False
cfg.model.bias_activation_fusion = True
cfg.model.bias_dropout_fusion = True
cfg.model.persist_layer_norm = True
cfg.model.cross_entropy_loss_fusion = True
cfg.model.num_layers = 12
cfg.model.hidden_size = 768
cfg.model.ffn_hidden_size = 3072
cfg.model.normalization = "LayerNorm"
cfg.model.position_embedding_type = "learned_absolute"
cfg.model.seq_length = 2048
cfg.model.make_vocab_size_divisible_by = 128
cfg.model.hidden_dropout = 0.0
cfg.model.attention_dropout = 0.0
cfg.model.num_attention_heads = 12
cfg.model.kv_channels = 64
cfg.train.micro_batch_size = 4
cfg.train.global_batch_size = 8
cfg.model.tensor_model_parallel_size = 1
cfg.model.context_parallel_size = 1
cfg.model.pipeline_model_parallel_size = 1
cfg.checkpoint.ckpt_format = "torch_dist"
cfg.model.cross_entropy_fusion_impl = "native"
cfg.train.train_iters = 100
cfg.optimizer.lr = 0.0001
cfg.optimizer.clip_grad = 1.0
cfg.validation.eval_iters = 0
cfg.validation.eval_interval = 1000
cfg.logger.log_interval = 1
cfg.logger.log_throughput = True
cfg.tokenizer.tokenizer_type = "NullTokenizer"
cfg.tokenizer.vocab_size = 50257

pretrain(config=cfg, forward_step_func=forward_step)
