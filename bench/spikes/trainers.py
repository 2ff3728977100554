"""The loops of transformers and Lightning around the tiny GPT, with the probe as their callback."""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset

from .gpt import BATCH, SampledCorpus, TinyGpt
from .layouts import RATE
from .shapes import TrainingLayout


class LossOfSamples(nn.Module):
    """The GPT as the Trainer of transformers wants it: a loss by name."""

    def __init__(self, gpt: TinyGpt) -> None:
        super().__init__()
        self.gpt = gpt

    def forward(self, samples: torch.Tensor) -> dict[str, Any]:
        return {"loss": self.gpt(samples)}


def transformers(
    layout: TrainingLayout, model: TinyGpt, text: SampledCorpus, steps: int, rates: Any,
    folder: str, pause: float,
) -> None:  # fmt: skip
    """Train by the Trainer; it deals the batches to ranks in their order."""
    from torch.utils.data import SequentialSampler  # noqa: PLC0415  the library is optional
    from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: PLC0415

    from rankscope.probe.huggingface import RankscopeCallback  # noqa: PLC0415

    class Ordered(Trainer):
        def _get_train_sampler(self, train_dataset: Any = None) -> Any:
            return SequentialSampler(train_dataset or text)

    class Paused(TrainerCallback):
        def on_step_begin(self, *_given: Any, **_known: Any) -> None:
            time.sleep(pause)

    arguments = TrainingArguments(
        output_dir=folder, max_steps=steps, per_device_train_batch_size=BATCH, use_cpu=True,
        max_grad_norm=layout.clip, save_strategy="no", report_to=[], logging_steps=10,
        disable_tqdm=True, ddp_backend="gloo",
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rates)
    Ordered(
        model=LossOfSamples(model), args=arguments, train_dataset=text,
        data_collator=lambda rows: {"samples": torch.stack(list(rows))},
        optimizers=(optimizer, schedule), callbacks=[RankscopeCallback(), Paused()],
    ).train()  # fmt: skip


def lightning(
    layout: TrainingLayout, model: TinyGpt, text: SampledCorpus, order: Sequence[int],
    steps: int, rates: Any, ranks: int, folder: str, pause: float,
) -> None:  # fmt: skip
    """Train by Lightning's Trainer."""
    from lightning.pytorch import LightningModule, Trainer  # noqa: PLC0415  optional
    from lightning.pytorch.strategies import DDPStrategy  # noqa: PLC0415

    from rankscope.probe.lightning import RankscopeCallback  # noqa: PLC0415

    class Trained(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.gpt = model

        def training_step(self, samples: torch.Tensor, _number: int) -> Any:
            time.sleep(pause)
            return self.gpt(samples)

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=RATE)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rates)
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    Trainer(
        max_steps=steps, accelerator="cpu", devices=ranks, gradient_clip_val=layout.clip,
        strategy=DDPStrategy(process_group_backend="gloo"), logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        use_distributed_sampler=False, default_root_dir=folder, callbacks=[RankscopeCallback()],
    ).fit(Trained(), DataLoader(Subset(text, order), batch_size=BATCH))  # fmt: skip
