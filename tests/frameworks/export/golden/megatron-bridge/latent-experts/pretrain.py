# DeepSeek-V3 on 256 chips of gb200-nvl72, 2048 sequences of 4096 tokens a step.
# Plan: dp 64 ep 64 pp 4, micro-batch 1, zero1, recompute full, split explicit: 16,15*3, schedule 1f1b.
# Written by planner 0.1.0.
# For Megatron-Bridge, 067f987 (2026-08-22).

from megatron.bridge.models.mla_provider import MLAModelProvider
from megatron.bridge.recipes.gpt.vanilla_gpt import vanilla_gpt_pretrain_config
from megatron.bridge.training.config import MockGPTDatasetConfig
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import bf16_mixed
from megatron.bridge.training.pretrain import pretrain
from torch.nn.functional import silu

cfg = vanilla_gpt_pretrain_config()
cfg.model = MLAModelProvider()
cfg.mixed_precision = bf16_mixed()
cfg.mixed_precision.grad_reduce_in_fp32 = False
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
cfg.model.cross_entropy_loss_fusion = True
cfg.model.q_lora_rank = 1536
cfg.model.multi_latent_attention = True
cfg.model.attention_softmax_in_fp32 = False
cfg.model.deallocate_pipeline_outputs = True
cfg.model.gradient_accumulation_fusion = True
cfg.model.masked_softmax_fusion = True
cfg.model.num_layers = 61
cfg.model.hidden_size = 7168
cfg.model.ffn_hidden_size = 18432
cfg.model.gated_linear_unit = True
cfg.model.activation_func = silu
cfg.model.normalization = "RMSNorm"
cfg.model.position_embedding_type = "rope"
cfg.model.seq_length = 4096
cfg.model.make_vocab_size_divisible_by = 128
cfg.model.share_embeddings_and_output_weights = False
cfg.model.add_bias_linear = False
cfg.model.hidden_dropout = 0.0
cfg.model.attention_dropout = 0.0
cfg.model.num_attention_heads = 128
cfg.model.kv_channels = 128
cfg.model.kv_lora_rank = 512
cfg.model.qk_head_dim = 128
cfg.model.qk_pos_emb_head_dim = 64
cfg.model.v_head_dim = 128
cfg.model.rope_type = "yarn"
cfg.model.rotary_scaling_factor = 1.0
cfg.model.qk_layernorm = True
cfg.model.num_moe_experts = 256
cfg.model.moe_layer_freq = [0] * 3 + [1] * 58
cfg.model.moe_ffn_hidden_size = 2048
cfg.model.moe_shared_expert_intermediate_size = 2048
cfg.model.moe_router_topk = 8
cfg.model.moe_router_num_groups = 8
cfg.model.moe_router_group_topk = 4
cfg.model.moe_router_score_function = "sigmoid"
cfg.model.moe_router_enable_expert_bias = True
cfg.model.moe_router_load_balancing_type = "seq_aux_loss"
cfg.model.moe_aux_loss_coeff = 0.0001
cfg.model.moe_router_dtype = "fp32"
cfg.model.moe_token_dispatcher_type = "alltoall"
cfg.model.moe_grouped_gemm = True
cfg.model.moe_permute_fusion = True
cfg.model.moe_router_fusion = True
cfg.train.micro_batch_size = 1
cfg.train.global_batch_size = 2048
cfg.model.tensor_model_parallel_size = 1
cfg.model.context_parallel_size = 1
cfg.model.expert_model_parallel_size = 64
cfg.model.expert_tensor_parallel_size = 1
cfg.model.pipeline_model_parallel_size = 4
cfg.model.pipeline_model_parallel_layout = "Et*16|(t*15|)*2t*15L"
cfg.ddp.overlap_grad_reduce = True
cfg.ddp.overlap_param_gather = True
cfg.checkpoint.ckpt_format = "torch_dist"
cfg.model.recompute_granularity = "full"
cfg.model.recompute_method = "uniform"
cfg.model.recompute_num_layers = 1
cfg.model.cross_entropy_fusion_impl = "native"
cfg.train.train_iters = 100
cfg.optimizer.lr = 0.0001
cfg.optimizer.clip_grad = 1.0
cfg.validation.eval_iters = 0
cfg.validation.eval_interval = 1000
cfg.logger.log_interval = 1
cfg.logger.log_throughput = True
cfg.tokenizer.tokenizer_type = "NullTokenizer"
cfg.tokenizer.vocab_size = 129280

pretrain(config=cfg, forward_step_func=forward_step)
