"""Run beside an exported train.py: the split model learns as the whole one does, from its weights.

Prints the largest difference of three losses between the two.
"""

from typing import Any

import torch
import train
from torch.distributed.tensor import DTensor, distribute_tensor


def losses(model: Any) -> list[float]:
    tokens = train.RandomTokens()[0][None]
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, foreach=False)
    found = []
    for _ in range(3):
        loss = train.mean_loss(model(input_ids=tokens[:, :-1]).logits, tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def main() -> None:
    accelerator = train.Accelerator(parallelism_config=train.MESH)
    train.set_seed(0)
    whole, split = train.built(), train.made(accelerator)
    with torch.no_grad():
        for name, weight in split.named_parameters():
            own = whole.get_parameter(name).detach()
            if isinstance(weight, DTensor):
                own = distribute_tensor(
                    own, weight.device_mesh, weight.placements, src_data_rank=None
                )
            weight.copy_(own)
    pairs = zip(losses(whole), losses(split), strict=True)
    accelerator.print("difference", max(abs(one - other) for one, other in pairs))


main()
