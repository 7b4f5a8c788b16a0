ZERO=2
cat <<EOT > config.json
{"train_batch_size": 64, "zero_optimization": {"stage": $ZERO}, "fp16": {"enabled": true}}
EOT
deepspeed --num_nodes 2 pretrain_gpt.py --num-layers 40 --hidden-size 5120 \
  --num-attention-heads 40 --seq-length 2048 --micro-batch-size 2 --global-batch-size 64 --fp16 \
  --checkpoint-activations --deepspeed --deepspeed_config config.json
