"""What a vision tower before the decoder costs: parameters, seconds, bytes and FLOP.

The tower with its projector is a part of the first stage, as the embedding is. Begin with `tower`.
"""
