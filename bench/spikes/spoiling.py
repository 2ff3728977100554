"""What a fault does to samples, weights, gradients and state: the thing itself, not its report.

Samples are overwritten before they are batched, bits are flipped in memory, a parameter is left out
of the reduction.
"""

from typing import Any

import torch

from .gpt import BATCH, CONTEXT, VOCABULARY, SampledCorpus, TinyGpt
from .shapes import SpikeShape

DATA = ("poisoned_shard", "corrupted_tokens", "duplicated_shard", "odd_batch")
RARE = 8
"""The last tokens of the vocabulary, which the text has least."""


def spoil(text: SampledCorpus, shape: SpikeShape, micro: int = 1) -> None:
    """Overwrite the samples that the suspect rank has in the steps of the fault.

    micro: batches of a step.
    """
    draw = torch.Generator().manual_seed(shape.seed + 99)
    steps = 1 if shape.fault == "odd_batch" else shape.lasts
    share = shape.share_of(shape.suspect)
    for batch in range(shape.at * micro, (shape.at + steps) * micro):
        first = (batch * shape.shares + share) * BATCH
        rows = slice(first, first + BATCH)
        whole = (BATCH, CONTEXT + 1)
        if shape.fault == "duplicated_shard":
            before = first - round(shape.factor) * micro * shape.shares * BATCH
            text.samples[rows] = text.samples[before : before + BATCH].clone()
        elif shape.fault == "poisoned_shard":  # the same few rare tokens over and over
            kinds = min(round(shape.factor), RARE)
            text.samples[rows] = VOCABULARY - 1 - torch.arange(CONTEXT + 1) % kinds
        else:
            other = torch.randint(0, VOCABULARY, whole, generator=draw)
            if shape.fault == "corrupted_tokens":
                hit = torch.rand(whole, generator=draw) < shape.factor
            else:  # harmless: some odd samples in one step
                hit = torch.arange(BATCH)[:, None].expand(whole) < round(shape.factor)
            text.samples[rows] = torch.where(hit, other, text.samples[rows])


def flip(values: torch.Tensor, place: int, bit: int) -> None:
    """Flip one bit of a float in memory; 30 is the highest of its exponent, 31 its sign."""
    values.view(-1).view(torch.int32)[place] ^= (1 << bit) if bit < 31 else -(1 << 31)


def enlarge(values: torch.Tensor, place: int, bit: int) -> None:
    """Flip a bit that is not set, the highest where it is, of an element that is not zero.

    A number that becomes smaller is lost among the others, and one that is zero is of a token that
    no batch had: neither changes anything.
    """
    flat = values.view(-1)
    if not flat[place]:
        place = int(flat.abs().argmax())
    flip(values, place, 30 if int(flat.view(torch.int32)[place]) >> bit & 1 else bit)


def chosen(parameters: list[Any], shape: SpikeShape) -> tuple[Any, int]:
    """Return the parameter and the place in it that a shape hits; large ones more often."""
    at = int(shape.tensor * sum(each.numel() for each in parameters))
    for each in parameters:
        if at < each.numel():
            return each, int(shape.place * each.numel())
        at -= each.numel()
    raise ValueError("a model without parameters")


def flip_of_gradient(model: TinyGpt, shape: SpikeShape, step: list[int]) -> None:
    """Hang a hook on a weight: in the step of the fault a bit of its own gradient is flipped."""
    parameter, place = chosen(list(model.parameters()), shape)

    def hook(gradient: torch.Tensor) -> torch.Tensor | None:
        if step[0] != shape.at:
            return None
        changed = gradient.clone()
        enlarge(changed, place, shape.lasts)
        return changed

    parameter.register_hook(hook)


def flip_of_state(optimizer: Any, shape: SpikeShape) -> None:
    """Flip a bit of what Adam keeps of one element."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    parameter, place = chosen(parameters, shape)
    enlarge(optimizer.state[parameter][shape.variant], place, shape.lasts)


def layer_of(model: TinyGpt, shape: SpikeShape) -> list[torch.nn.Parameter]:
    """Return the parameters of the layer that a shape hits: one of a block's two halves."""
    block = model.blocks[int(shape.tensor * len(model.blocks))]
    half = block.attention if shape.place < 0.5 else block.forward_layer
    return list(half.parameters())


def local_gradients(
    model: TinyGpt, shape: SpikeShape
) -> dict[torch.nn.Parameter, list[torch.Tensor]]:
    """Keep the gradients of one layer as they are before the reduction; used in its place."""
    kept: dict[torch.nn.Parameter, list[torch.Tensor]] = {}
    parameter: Any
    for parameter in layer_of(model, shape):
        held = kept[parameter] = [torch.zeros_like(parameter)]

        def hook(gradient: torch.Tensor, held: list[torch.Tensor] = held) -> None:
            held[0] = gradient.clone()

        parameter.register_hook(hook)
    return kept
