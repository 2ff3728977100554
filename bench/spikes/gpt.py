"""A tiny GPT and the text that it learns: a chain of tokens whose next one depends on two before.

Everything is drawn by a seed, so that two runs read the same text in the same order.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

VOCABULARY, CONTEXT, BATCH = 64, 32, 8
"""Tokens, tokens of a sample, samples of a batch."""


@dataclass(frozen=True)
class SampledCorpus(Dataset[torch.Tensor]):
    """Samples [count, CONTEXT + 1] of a chain; `locate` names where a sample lies, as a shard."""

    samples: torch.Tensor

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.samples[index]

    def locate(self, index: int) -> str:
        """Return the shard and the offset of a sample."""
        return f"shard-{index // 256:02d}.bin:{index % 256}"


def corpus(count: int, seed: int) -> SampledCorpus:
    """Return samples in which tokens are as unequally frequent as words are."""
    draw = torch.Generator().manual_seed(seed)
    follows = torch.randint(0, VOCABULARY, (VOCABULARY, 4), generator=draw)
    follows = (follows.float() ** 1.6 / VOCABULARY**0.6).long().clamp_(0, VOCABULARY - 1)
    choice = torch.multinomial(
        torch.tensor([0.7, 0.15, 0.1, 0.05]), count * (CONTEXT + 1), True, generator=draw
    ).view(count, CONTEXT + 1)
    samples = torch.zeros(count, CONTEXT + 1, dtype=torch.int64)
    samples[:, 0] = torch.randint(0, VOCABULARY // 4, (count,), generator=draw)
    for place in range(1, CONTEXT + 1):
        samples[:, place] = follows[samples[:, place - 1], choice[:, place]]
    return SampledCorpus(samples)


class TransformerBlock(nn.Module):
    """Attention and a feed-forward layer, each behind its norm."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.forward_layer = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
        normed = self.first(x)
        attended, _ = self.attention(normed, normed, normed, attn_mask=mask, need_weights=False)
        x = x + self.dropout(attended)
        return x + self.dropout(self.forward_layer(self.second(x)))


class TinyGpt(nn.Module):
    """Predicts the next token; `forward` returns the mean loss of a batch of samples."""

    def __init__(self, width: int = 32, depth: int = 2, dropout: float = 0.05) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(CONTEXT, width)
        self.blocks: Any = nn.ModuleList(TransformerBlock(width, 2, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        mask = torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, samples: torch.Tensor) -> Any:
        inputs, targets = samples[:, :-1], samples[:, 1:]
        length = inputs.shape[1]
        x = self.tokens(inputs) + self.places.weight[:length]
        mask: Any = self.mask
        for block in self.blocks:
            x = block(x, mask[:length, :length])
        logits = self.head(self.norm(x))
        return nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1))
