"""Every argument of Megatron-LM's pretrain_gpt.py, by the groups of its own `--help`.

After a name: `=` takes one value, `3` three, `+` any number of them; nothing: a switch. Source:
megatron/training/arguments.py, `add_megatron_arguments`, d98e8a64dd (2026-08-22), as its parser
lists them; the last group is of older versions, whose example scripts people still have.
"""

from __future__ import annotations

import re

GROUPS = {
    "transformer configuration": """
        tensor-model-parallel-size= tensor-parallel-num-weight-shards=
        pipeline-model-parallel-comm-backend= pipeline-model-parallel-size= sequence-parallel
        context-parallel-size= hierarchical-context-parallel-sizes+ max-seqlen-per-dp-cp-rank=
        hybrid-context-parallel expert-model-parallel-size= expert-tensor-parallel-size=
        expert-tensor-parallel-num-weight-shards= no-initialization use-cpu-initialization fp16
        bf16 deterministic-mode tp-comm-overlap no-tp-comm-bulk-wgrad disable-tp-comm-bulk-wgrad
        no-tp-comm-bulk-dgrad disable-tp-comm-bulk-dgrad no-tp-comm-overlap-ag
        disable-tp-comm-overlap-ag no-tp-comm-overlap-rs disable-tp-comm-overlap-rs
        tp-comm-overlap-rs-dgrad no-tp-comm-split-ag disable-tp-comm-split-ag no-tp-comm-split-rs
        disable-tp-comm-split-rs cross-entropy-loss-fusion cross-entropy-fusion-impl=
        tp-comm-bootstrap-backend= overlap-moe-expert-parallel-comm delay-wgrad-compute
        overlap-dispatch-backward-with-experts-wgrad ep-overlap-early-attn-memory-release
        use-ring-exchange-p2p defer-embedding-wgrad-compute wgrad-deferral-limit=
        overlap-p2p-communication-warmup-flush microbatch-group-size-per-virtual-pipeline-stage=
        mtp-standalone cpu-offloading-num-layers= cpu-offloading-retain-pinned-cpu-buffers
        num-layers= mtp-num-layers= mtp-loss-scaling-factor= mtp-use-repeated-layer
        mtp-detach-heads mtp-hsm mtp-hybrid-override-pattern=
        account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split hidden-size=
        num-attention-heads= attention-backend= flash-attention-version= softmax-type=
        num-query-groups= ffn-hidden-size= kv-channels= hidden-dropout= attention-dropout=
        fp32-residual-connection apply-residual-connection-post-layernorm norm-epsilon=
        apply-layernorm-1p disable-bias-linear add-qkv-bias glu-linear-offset=
        activation-func-clamp-value= rotary-interleaved normalization= qk-layernorm qk-l2-norm
        qk-clip qk-clip-alpha= qk-clip-threshold= attention-output-gate calculate-per-token-loss
        multi-latent-attention experimental-attention-variant= dsa-indexer-n-heads=
        dsa-indexer-head-dim= dsa-indexer-topk= dsa-indexer-topk-freq=
        dsa-indexer-skip-topk-offset= dsa-indexer-loss-coeff= dsa-indexer-use-sparse-loss
        dsa-kernel-backend= dsa-indexer-rope-interleaved no-dsa-indexer-rotate-activation
        disable-dsa-indexer-rotate-activation no-dsa-indexer-scoring-relu
        disable-dsa-indexer-scoring-relu dsa-indexer-k-norm-epsilon= dsa-indexer-k-norm-fp32
        linear-conv-kernel-dim= linear-key-head-dim= linear-value-head-dim= linear-num-key-heads=
        linear-num-value-heads= init-method-std= embedding-init-method-std=
        init-model-with-meta-device use-mup mup-width-mult= mup-base-hidden-size=
        mup-embedding-mult= mup-output-mult= mup-base-head-dim= mup-attn-scale-power=
        apply-query-key-layer-scaling disable-bf16-reduced-precision-matmul
        use-fused-weighted-squared-relu fused-residual-rmsnorm use-transformer-engine-op-fuser
        recompute-granularity= recompute-method= recompute-num-layers= distribute-saved-activations
        recompute-modules+ fp8-format= fp8-recipe= fp8-quantizer-factory= fp8-margin= fp8-interval=
        fp8-amax-history-len= fp8-amax-compute-algo= no-fp8-wgrad disable-fp8-wgrad fp8-output-proj
        first-last-layers-bf16 num-layers-at-start-in-bf16= num-layers-at-end-in-bf16=
        use-kitchen-attention kitchen-attention-backend= fp4-format= fp4-recipe=
        fp4-quantizer-factory= high-priority-a2a-comm-stream moe-shared-expert-intermediate-size=
        moe-shared-expert-gate moe-shared-expert-overlap use-grouped-gemm-for-shared-expert
        moe-shared-expert-glu-interleave-size= moe-ffn-hidden-size= moe-router-topk=
        moe-enable-routing-replay moe-router-padding-for-quantization moe-router-padding-for-fp8
        moe-router-num-groups= moe-router-group-topk= moe-router-pre-softmax
        moe-router-topk-scaling-factor= moe-router-score-function= moe-router-dtype=
        moe-router-enable-expert-bias moe-router-bias-update-rate=
        moe-router-quantile-balancing-ema= moe-router-force-load-balancing moe-router-force-biased=
        use-grouped-gemm-for-dense-mlp moe-grouped-gemm moe-use-grouped-tensor
        moe-single-grouped-weight moe-single-grouped-bias moe-z-loss-coeff= moe-input-jitter-eps=
        moe-token-dispatcher-type= moe-enable-deepep moe-flex-dispatcher-backend=
        moe-permute-fusion-into-hybridep moe-hybridep-pad-uneven-dispatch-inputs
        moe-per-layer-logging moe-expert-capacity-factor= moe-pad-expert-input-to-capacity
        moe-pad-experts-for-cuda-graph-inference moe-token-drop-policy= moe-layer-recompute
        moe-permute-fusion moe-router-fusion moe-apply-probs-on-input moe-latent-size=
        gtp-remat-opt-in-modules+ moe-flex-dispatcher-num-sms= moe-deepep-num-sms=
        moe-hybridep-num-sms= moe-hybridep-num-blocks-permute= moe-hybridep-num-blocks-unpermute=
        moe-hybridep-num-sms-preprocessing= moe-ncclep-zero-copy moe-dispatch-fwd-dtype=
        moe-combine-bwd-dtype= moe-mlp-glu-interleave-size= moe-expert-rank-capacity-factor=
        enable-cuda-graph cuda-graph-warmup-steps= external-cuda-graph cuda-graph-impl=
        inference-cuda-graph-scope= enable-mhc-connections mhc-num-residual-streams=
        mhc-sinkhorn-iterations= mhc-init-gating-factor= mhc-recompute-layer-num=
        no-clone-scatter-output-in-embedding disable-clone-scatter-output-in-embedding
        config-logger-dir= flash-decode batch-invariant-mode batch-invariant-backend=
        use-te-activation-func symmetric-ar-type= nccl-all-reduce-for-prefill
        inference-fuse-tp-communication inference-disable-triton-nvls-kernels
        inference-grouped-gemm-backend= inference-moe-disable-fused-quant-kernels
        inference-moe-token-dispatcher-type= mrope-section+ is-hybrid-model mamba-state-dim=
        mamba-head-dim= mamba-num-groups= mamba-num-heads= gdp-num-householder=
        disable-mamba-mem-eff-path gdp-cutedsl-kernel gdp-num-chunk-states-to-recompute=
        mlp-chunks-for-prefill= mlp-chunks-for-training= transformer-impl=
        fine-grained-activation-offloading offload-modules+ min-offloaded-tensor-size=
        delay-offload-until-cuda-graph delta-offload-bytes-across-pp-ranks=
        activation-offload-fraction= moe-paged-stash moe-paged-stash-page-size=
        moe-paged-stash-buffer-size-factor-cuda= moe-paged-stash-buffer-size-factor-cpu=
        fine-grained-offloading-max-inflight-offloads=
    """,
    "network size": """
        encoder-num-layers= decoder-num-layers= group-query-attention window-size=
        window-attn-skip-freq= max-position-embeddings= position-embedding-type=
        yarn-original-max-position-embeddings= yarn-beta-fast= yarn-beta-slow=
        yarn-correction-range-round-to-int no-yarn-correction-range-round-to-int
        relative-attention-num-buckets= relative-attention-max-distance=
        use-rotary-position-embeddings rotary-base= rotary-percent=
        rotary-seq-len-interpolation-factor= use-rope-scaling rope-scaling-factor= no-rope-freq=
        no-position-embedding make-vocab-size-divisible-by= openai-gelu squared-relu swiglu
        quick-geglu onnx-safe= bert-no-binary-head untie-embeddings-and-output-weights
    """,
    "regularization": """
        weight-decay= apply-wd-to-qk-layernorm clip-grad= adam-beta1= adam-beta2= adam-eps=
        sgd-momentum= muon-momentum= muon-no-split-qkv muon-nesterov muon-scale-mode=
        muon-fp32-matmul-prec= muon-coefficient-type= muon-num-ns-steps= muon-tp-mode=
        muon-use-syrk muon-extra-scale-factor= muon-scalar-optimizer= lion-beta1= lion-beta2=
        no-weight-decay-cond-type=
    """,
    "profiling": """
        profile profile-step-start= profile-step-end= use-pytorch-profiler
        pytorch-profiler-collect-shapes pytorch-profiler-collect-callstack
        pytorch-profiler-collect-chakra profile-ranks+ record-memory-history memory-snapshot-path=
        record-shapes nvtx-ranges
    """,
    "training": """
        micro-batch-size= global-batch-size= rampup-batch-size3 step-batch-size-schedule=
        decrease-batch-size-if-needed empty-unused-memory-level=
        check-weight-hash-across-dp-replicas-interval= gpu-sniff-test-interval=
        train-sync-interval= train-iters= train-samples= exit-interval= exit-duration-in-mins=
        exit-signal-handler exit-signal= exit-signal-handler-for-dataloader
        exit-signal-handler-for-training manual-gc manual-gc-interval= no-manual-gc-eval
        disable-manual-gc-eval iterations-to-skip+ batch-size= recompute-activations
        no-check-for-nan-in-loss-and-grad check-for-large-grads result-rejected-tracker-filename=
        tp-comm-overlap-cfg= checkpoint-activations no-masked-softmax-fusion no-bias-gelu-fusion
        no-bias-swiglu-fusion no-bias-dropout-fusion no-rope-fusion rope-type= use-flash-attn
        optimizer= optimizer-cpu-offload optimizer-cuda-graph optimizer-offload-fraction=
        use-torch-optimizer-for-cpu-offload overlap-cpu-optimizer-d2h-h2d
        dump-param-to-param-group-map= no-pin-cpu-grads no-pin-cpu-params dataloader-type=
        no-persist-layer-norm no-gradient-accumulation-fusion use-mcore-models
    """,
    "rl": """
        perform-rl-step rl-prompts-per-eval= grpo-prompts-per-step= grpo-group-size=
        rl-generation-lag= rl-max-inflight-requests= rl-submission-granularity=
        rl-consumption-granularity= rl-durable-rollout-bank rl-rollout-bank-dir=
        rl-rollout-bank-max-bytes= grpo-iterations= grpo-clamp-eps-lower= grpo-clamp-eps-upper=
        grpo-kl-beta= grpo-entropy-term-weight= grpo-filter-groups-with-same-reward
        langrl-env-config= rl-default-temperature= rl-default-top-p= rl-default-top-k=
        rl-offload-optimizer-during-inference rl-kv-cache-management-mode= rl-persist-cuda-graphs
        no-rl-persist-cuda-graphs rl-partial-rollouts no-rl-partial-rollouts
        rl-inference-logprobs-is-correction no-rl-inference-logprobs-is-correction
        rl-importance-sampling-truncation-coef= rl-use-sequence-packing no-rl-use-sequence-packing
        rl-sequence-packing-max-sequences-per-bin= rl-sequence-packing-algo=
        rl-training-cuda-graphs no-rl-training-cuda-graphs rl-inference-tensor-model-parallel-size=
        rl-inference-pipeline-model-parallel-size= rl-inference-expert-model-parallel-size=
        rl-inference-expert-tensor-model-parallel-size= rl-inference-model-unified-memory-level=
        rl-offload-inference-model-weights-when-idle
        no-rl-offload-inference-model-weights-when-idle refit-method= rl-verify-model-weights-swap
        no-rl-verify-model-weights-swap rl-skip-bos-token no-rl-skip-bos-token rl-profile
        rl-profile-dir= rl-inference-parsers+
    """,
    "RNG and initialization": """
        seed= te-rng-tracker inference-rng-tracker data-parallel-random-init
        init-method-xavier-uniform
    """,
    "learning rate and weight decay": """
        lr-decay-style= lr-wsd-decay-style= lr-decay-iters= lr-decay-samples= lr-wsd-decay-iters=
        lr-wsd-decay-samples= lr-warmup-fraction= lr-warmup-iters= lr-warmup-samples=
        lr-warmup-init= override-opt_param-scheduler override-opt-param-scheduler
        use-checkpoint-opt_param-scheduler use-checkpoint-opt-param-scheduler start-weight-decay=
        end-weight-decay= weight-decay-incr-style= lr= warmup= min-lr= decoupled-lr=
        decoupled-min-lr= freeze-all-layers
    """,
    "checkpointing": """
        save= save-interval= persistent-save-interval= save-params-interval=
        save-activations-interval= save-tokens-per-expert-interval= save-wgrads-interval=
        save-dgrads-interval= save-retain-interval= load= load-main-params-from-ckpt
        non-persistent-save-interval= non-persistent-ckpt-type= non-persistent-global-ckpt-dir=
        non-persistent-local-ckpt-dir= non-persistent-local-ckpt-algo= finetune
        pretrained-checkpoint= ckpt-step= use-checkpoint-args use-mp-args-from-checkpoint-args
        no-use-tokenizer-model-from-checkpoint-args
        disable-use-tokenizer-model-from-checkpoint-args exit-on-missing-checkpoint ckpt-format=
        auto-detect-ckpt-format ckpt-convert-format= ckpt-convert-save=
        ckpt-convert-update-legacy-dist-opt-format no-ckpt-fully-parallel-save async-save
        async-strategy= use-persistent-ckpt-worker async-ckpt-cpu-priority= async-ckpt-io-priority=
        async-ckpt-use-cpu-shm ckpt-fully-parallel-load ckpt-fully-parallel-load-exchange-algo=
        ckpt-fully-parallel-load-per-rank-objects ckpt-fully-parallel-save-process-group=
        ckpt-fully-parallel-load-process-group= ckpt-assume-constant-structure
        ckpt-pg-tensors-cache-path= ckpt-pg-tensors-cache-create
        no-ckpt-load-validate-sharding-integrity disable-ckpt-load-validate-sharding-integrity
        no-strict-fsdp-dtensor-load disable-strict-fsdp-dtensor-load dist-ckpt-strictness=
        dist-ckpt-save-pre-mcore-014 dist-ckpt-optim-fully-reshardable
        distrib-optim-fully-reshardable-mem-efficient no-save-tokenizer-assets
        disable-save-tokenizer-assets replication replication-jump= replication-factor=
        verify-integrity no-save-optim no-save-rng no-load-optim no-load-rng
        override-ckpt-iteration= use-dist-ckpt dist-ckpt-format= dist-ckpt-workers=
        ckpt-fully-parallel-save ckpt-drop-redundant-extra-state
    """,
    "mixed precision": """
        grad-reduce-in-bf16 loss-scale= initial-loss-scale= min-loss-scale= loss-scale-window=
        hysteresis= attention-softmax-in-fp32 accumulate-allreduce-grads-in-fp32
        fp16-lm-cross-entropy output-logit-dtype= reuse-grad-buf-for-mxfp8-param-ag
        mamba-training-ssm-states-dtype=
    """,
    "distributed init": """
        distributed-backend= distributed-timeout-minutes= no-align-grad-reduce
        disable-align-grad-reduce local-rank= lazy-mpu-init use-megatron-fsdp use-torch-fsdp2
        nccl-communicator-config-path= use-tp-pp-dp-mapping disable-gloo-process-groups use-sharp
        sharp-enabled-group= high-priority-stream-groups+ distributed-timeout-seconds-after-init=
        flight-recorder-dump-path= flight-recorder-trace-buffer-size=
        no-flight-recorder-dump-on-timeout disable-flight-recorder-dump-on-timeout
        flight-recorder-include-stack-trace no-flight-recorder-include-only-active
        disable-flight-recorder-include-only-active no-flight-recorder-extra-dump-on-exec
        disable-flight-recorder-extra-dump-on-exec disable-jit-fuser
        decoder-first-pipeline-num-layers= decoder-last-pipeline-num-layers=
        pipeline-model-parallel-layout= model-parallel-size= num-layers-per-virtual-pipeline-stage=
        num-virtual-stages-per-pipeline-rank= no-overlap-p2p-communication overlap-grad-reduce
        ddp-num-buckets= ddp-bucket-size= ddp-pad-buckets-for-high-nccl-busbw
        ddp-reduce-scatter-with-fp32-accumulation gtp-remat-reduce-scatter-with-fp32-accumulation
        ddp-param-name-patterns-for-fp32-local-accumulation+ ddp-average-in-collective
        overlap-param-gather overlap-param-gather-with-optimizer-step no-align-param-gather
        use-distributed-optimizer megatron-fsdp-version= no-use-layer-wise-param-layout use-nccl-ub
        disable-symmetric-registration gtp-remat-nccl-ub gtp-expert-remat-nccl-ub
        fsdp-manual-registration create-all-gather-group data-parallel-sharding-strategy=
        outer-dp-sharding-strategy= no-gradient-reduce-div-fusion fsdp-double-buffer
        suggested-communication-unit-size= keep-fp8-transpose-cache enable-full-sharding-in-hsdp
        num-distributed-optimizer-instances= torch-fsdp2-no-reshard-after-forward cp-comm-type+
        fake-process-group
    """,
    "validation": """
        eval-iters= eval-interval= start-eval-at-iter= eval-global-batch-size=
        eval-micro-batch-size= skip-train test-mode full-validation multiple-validation-sets
        validation-set-names+
    """,
    "data and dataloader": """
        data-path+ phase-transition-iterations= split= train-data-path+ valid-data-path+
        test-data-path+ data-args-path= per-split-data-args-path= per-dataset-sequences-path=
        dataloader-fast-cache-load dataloader-defer-npy-index-mmap data-cache-path=
        no-mmap-bin-files mock-data seq-length= encoder-seq-length= decoder-seq-length=
        sample-rate= mask-prob= short-seq-prob= num-workers= reset-position-ids
        reset-attention-mask dataloader-inter-document-masking eod-mask-loss
        no-create-attention-mask-in-dataloader num-dataset-builder-threads=
        object-storage-cache-path= mid-level-dataset-surplus= allow-ambiguous-pad-tokens fim-data
        fim-rate= fim-spm-rate= fim-split-sample= fim-fragment-rate= fim-no-prefix=
        fim-prefix-token= fim-middle-token= fim-suffix-token= fim-pad-token= fim-eod-token=
    """,
    "tokenizer": """
        vocab-size= padded-vocab-size= no-pad-vocab-size disable-pad-vocab-size vocab-file=
        merge-file= vocab-extra-ids= tokenizer-type= tokenizer-model= tokenizer-metadata=
        tokenizer-special-tokens+ tiktoken-pattern= tiktoken-num-special-tokens=
        tokenizer-sentencepiece-legacy no-tokenizer-sentencepiece-ignore-extra-whitespaces
        disable-tokenizer-sentencepiece-ignore-extra-whitespaces tokenizer-hf-no-use-fast
        tokenizer-hf-no-include-special-tokens trust-remote-code null-tokenizer-eod-id=
        null-tokenizer-pad-id= chat-template= use-gigatoken
    """,
    "autoresume": """
        adlr-autoresume adlr-autoresume-interval=
    """,
    "biencoder": """
        ict-head-size= biencoder-projection-dim= biencoder-shared-query-context-model ict-load=
        bert-load= titles-data-path= query-in-block-prob= use-one-sent-docs evidence-data-path=
        retriever-report-topk-accuracies+ retriever-score-scaling block-data-path= embedding-path=
        indexer-batch-size= indexer-log-interval=
    """,
    "vision": """
        num-classes= img-h= img-w= num-channels= patch-dim= classes-fraction=
        data-per-class-fraction= no-data-sharding head-lr-mult= vision-pretraining
        vision-pretraining-type= vision-backbone-type= swin-backbone-type= mask-type= mask-factor=
        iter-per-epoch= dino-local-img-size= dino-local-crops-number= dino-head-hidden-size=
        dino-bottleneck-size= dino-freeze-last-layer= dino-norm-last-layer
        dino-warmup-teacher-temp= dino-teacher-temp= dino-warmup-teacher-temp-epochs=
    """,
    "moe": """
        num-experts= moe-layer-freq= moe-use-upcycling moe-router-load-balancing-type+
        moe-aux-loss-coeff+ moe-upcycling-granularity=
    """,
    "mla": """
        q-lora-rank= kv-lora-rank= qk-head-dim= qk-pos-emb-head-dim= v-head-dim=
        rotary-scaling-factor= mscale= mscale-all-dim= cache-mla-latents mla-down-proj-fusion
    """,
    "experimental_attention_variant": """
        linear-attention-freq=
    """,
    "heterogeneous architecture": """
        heterogeneous-layers-config-path= heterogeneous-layers-config-encoded-json=
    """,
    "logging": """
        log-interval= log-params-norm log-throughput log-progress timing-log-level=
        timing-log-option= tensorboard-dir= tensorboard-log-interval= tensorboard-queue-size=
        log-timers-to-tensorboard no-log-loss-scale-to-tensorboard
        disable-log-loss-scale-to-tensorboard log-validation-ppl-to-tensorboard
        log-memory-to-tensorboard log-memory-interval= log-device-memory-used log-num-zeros-in-grad
        log-max-attention-logit no-barrier-with-level-1-timing log-world-size-to-tensorboard
        wandb-project= wandb-exp-name= wandb-save-dir= wandb-entity= logging-level= log-energy
        moe-routing-trace-path= moe-routing-trace-max-training-iters=
        moe-routing-trace-capture-logits moe-routing-trace-capture-hidden-states
        moe-routing-trace-dump-weights
    """,
    "opentelemetry": """
        otel-enabled otel-service-name= otel-span-groups=
    """,
    "Logits Distillation": """
        logits-save-top-k= logits-save-top-p= logits-save-top-p-min-k= logits-save-dir=
        logits-save-dtype= logits-load-dir= logits-load-decode-threads=
        logits-load-prefetch-factor= logits-load-msc-prefetch-depth= logits-load-kd-loss-alpha=
        logits-load-ignore-errors
    """,
    "straggler": """
        log-straggler straggler-ctrlr-port= straggler-minmax-count= disable-straggler-on-startup
    """,
    "workload inspector": """
        run-workload-inspector-server
    """,
    "inference": """
        inference-batch-times-seqlen-threshold= max-tokens-to-oom= output-bert-embeddings
        bert-embedder-type= cuda-graph-scope+ cuda-graph-modules+ use-legacy-static-engine
        inference-max-requests= inference-max-seq-length= inference-dynamic-batching
        inference-dynamic-batching-buffer-size-gb=
        inference-dynamic-batching-paused-buffer-size-gb=
        inference-dynamic-batching-mamba-memory-ratio= inference-dynamic-batching-block-size=
        inference-dynamic-batching-max-requests= inference-dynamic-batching-max-tokens=
        inference-dynamic-batching-num-cuda-graphs=
        inference-dynamic-batching-track-paused-request-events
        inference-dynamic-batching-track-generated-token-events decode-only-cuda-graphs
        inference-cuda-graph-all-prefills inference-cuda-graph-max-tokens=
        inference-dynamic-batching-unified-memory-level= enable-chunked-prefill
        num-speculative-tokens= inference-dynamic-batching-prefix-caching
        no-inference-dynamic-batching-prefix-caching
        inference-dynamic-batching-prefix-caching-eviction-policy=
        inference-dynamic-batching-prefix-caching-coordinator-policy=
        inference-dynamic-batching-prefix-caching-routing-alpha=
        inference-dynamic-batching-prefix-caching-mamba-gb=
        inference-dynamic-batching-cuda-graph-mixed-prefill-count=
        inference-dynamic-batching-cuda-graph-sizing-distribution=
        inference-dynamic-batching-sampling-backend= use-same-sampling-seed-across-dp-ranks
        inference-dynamic-batching-async-sched-mode= inference-dynamic-batching-logprobs-mode=
        inference-logging-step-interval= inference-text-gen-server-logging
        no-inference-text-gen-server-logging inference-wandb-logging no-inference-wandb-logging
        inference-coordinator-port= mamba-inference-conv-states-dtype=
        mamba-inference-ssm-states-dtype= inference-use-synchronous-zmq-collectives
        no-inference-use-synchronous-zmq-collectives inference-disable-ep-consensus
        no-inference-disable-ep-consensus inference-shards=
    """,
    "Transformer-Engine": """
        fp4-param-gather fp8-param-gather te-precision-config-file=
    """,
    "experimental": """
        enable-experimental spec+ hybrid-layer-pattern= hybrid-override-pattern= yaml-cfg=
        use-precision-aware-optimizer main-grads-dtype= main-params-dtype= exp-avg-dtype=
        exp-avg-sq-dtype= megatron-fsdp-main-params-dtype= megatron-fsdp-main-grads-dtype=
        megatron-fsdp-grad-comm-dtype= megatron-fsdp-enable-fine-grained-param-gather
        megatron-fsdp-max-pool-double-buffer fsdp-db-use-persist-buf-on-alloc-fail
    """,
    "one logger": """
        no-one-logger one-logger-project= one-logger-run-name= one-logger-async app-tag-run-name=
        app-tag-run-version=
    """,
    "In-process restart": """
        inprocess-restart inprocess-max-iterations= inprocess-monitor-thread-interval=
        inprocess-monitor-process-interval= inprocess-progress-watchdog-interval=
        inprocess-heartbeat-interval= inprocess-soft-timeout= inprocess-hard-timeout=
        inprocess-heartbeat-timeout= inprocess-barrier-timeout= inprocess-completion-timeout=
        inprocess-last-call-wait= inprocess-termination-grace-time= inprocess-granularity=
        inprocess-active-world-size= inprocess-empty-cuda-cache
    """,
    "ft_package": """
        enable-ft-package calc-ft-timeouts ft-num-warmup-iters=
    """,
    "rerun engine": """
        error-injection-rate= error-injection-type= rerun-mode= check-for-spiky-loss
    """,
    "msc": """
        enable-msc disable-msc
    """,
    "sft": """
        sft sft-tokenizer-prompt-format=
    """,
    "fault injector": """
        fault-injector-ranks= fault-injector-num-ranks= fault-injector-fault-types=
        fault-injector-fault-probabilities= fault-injector-fault-delay=
        fault-injector-delay-start-iteration= fault-injector-mtti-seconds=
        fault-injector-offset-seconds= fault-injector-seed=
    """,
    "older versions": """
        distribute-checkpointed-activations no-async-tensor-model-parallel-allreduce DDP-impl=
        no-scatter-gather-tensors-in-pipeline local_rank=
        no-query-key-layer-scaling
    """,
}
"""Title of a group to its arguments."""


_NAME = re.compile(r"(.*?)([=+3]?)")


def known_flags() -> dict[str, tuple[str, str]]:
    """Every flag with what follows it ("", "=", "3" or "+") and the title of its group."""
    found = {}
    for title, names in GROUPS.items():
        for name in names.split():
            match = _NAME.fullmatch(name)
            assert match is not None
            found[f"--{match[1]}"] = (match[2], title)
    return found
