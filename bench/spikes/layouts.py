"""The ways to train of layouts.toml: how the tiny GPT is split over ranks and updated.

Each is what a user of it writes: nothing here is for the probe. `built` returns what a loop of
torch calls; the Trainers of transformers and Lightning have loops of their own (`trainers`).
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from .gpt import VOCABULARY, TinyGpt
from .shapes import TrainingLayout

RATE = 3e-3


class Lion(torch.optim.Optimizer):
    """The sign of an average of gradients; it counts no updates."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Make one update."""
        for group in self.param_groups:
            for each in group["params"]:
                if each.grad is not None:
                    kept = self.state[each].setdefault("exp_avg", torch.zeros_like(each))
                    each.sub_(torch.sign(kept.lerp(each.grad, 0.1)) * group["lr"])
                    kept.lerp_(each.grad, 0.01)


def optimizers_of(kind: str, parameters: Sequence[Any]) -> list[Any]:
    """Return the optimizers that an update calls, each at the highest rate of its schedule."""
    if kind == "sgd":
        return [torch.optim.SGD(parameters, lr=0.1, momentum=0.9)]
    if kind == "lion":
        return [Lion(parameters, lr=5e-4)]
    if kind == "adafactor":
        return [torch.optim.Adafactor(parameters, lr=3e-2)]
    if kind == "muon":
        matrices = [one for one in parameters if one.ndim == 2 and VOCABULARY not in one.shape]
        known = {id(one) for one in matrices}
        rest = [one for one in parameters if id(one) not in known]
        return [torch.optim.Muon(matrices, lr=1e-2), torch.optim.AdamW(rest, lr=RATE)]
    if kind == "zero_redundancy":
        from torch.distributed.optim import (  # noqa: PLC0415  it warns of something of its own
            ZeroRedundancyOptimizer,
        )

        return [ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=RATE)]
    return [torch.optim.AdamW(parameters, lr=RATE, foreach=kind == "adamw")]


class TrainedModel:
    """A model behind its wrapper. `loss` of the samples of one batch, with its graph."""

    def __init__(self, layout: TrainingLayout, model: nn.Module, wrapped: Any) -> None:
        self.layout, self.model, self.wrapped = layout, model, wrapped
        kind = layout.optimizer
        if layout.parallel in ("zero_redundancy", "tensor"):
            kind = layout.parallel
        self.optimizers = optimizers_of(kind, list(model.parameters()))
        self.rates = [one.param_groups[0]["lr"] for one in self.optimizers]
        half = layout.precision == "float16"
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10) if half else None

    def half_precision(self, scale: float) -> None:
        """Train in half precision as torch has it: a loss scale that falls at an overflow."""
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale)

    def set_rate(self, times: float) -> None:
        """Set the learning rate as a share of the highest one."""
        for optimizer, rate in zip(self.optimizers, self.rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = times * rate

    def forward(self) -> Any:
        """Return what a forward pass runs in."""
        if self.scaler is not None:
            return torch.autocast("cpu", dtype=torch.float16)
        if self.layout.precision == "bfloat16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def gradients(self, batches: Iterable[torch.Tensor]) -> None:
        """Make the gradients of an update: of all its micro-batches, reduced with the last."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        count = self.layout.micro_batches
        for number, samples in enumerate(batches, 1):
            waits = number < count and self.layout.parallel == "replicas"
            with self.wrapped.no_sync() if waits else contextlib.nullcontext():
                with self.forward():
                    loss = self.wrapped(samples)
                loss = loss / count
                (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def clip(self) -> None:
        """Clip as the layout does, and read the norm as loops do that log it."""
        if self.scaler is not None:
            for optimizer in self.optimizers:
                self.scaler.unscale_(optimizer)
        if self.layout.clip:
            norm: Any = nn.utils.clip_grad_norm_(self.model.parameters(), self.layout.clip)
            if hasattr(norm, "full_tensor"):
                norm.full_tensor().item()

    def update(self) -> None:
        for optimizer in self.optimizers:
            if self.scaler is None:
                optimizer.step()
            else:
                self.scaler.step(optimizer)
        if self.scaler is not None:
            self.scaler.update()


class PipelineHalf(nn.Module):
    """One of two stages of the GPT: each block with what lies at its end."""

    def __init__(self, whole: TinyGpt, stage: int) -> None:
        super().__init__()
        self.last, self.block = stage == 1, whole.blocks[stage]
        if self.last:
            self.norm, self.head = whole.norm, whole.head
        else:
            self.tokens, self.places = whole.tokens, whole.places
        mask: Any = whole.mask
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: torch.Tensor) -> Any:
        mask: Any = self.mask
        if not self.last:
            x = self.tokens(x) + self.places.weight[: x.shape[1]]
        x = self.block(x, mask[: x.shape[1], : x.shape[1]])
        return self.head(self.norm(x)) if self.last else x


class PipelinedModel(TrainedModel):
    """Two stages; data-parallel copies of them average their gradients themselves."""

    def __init__(self, layout: TrainingLayout, whole: TinyGpt, mesh: DeviceMesh) -> None:
        stage = mesh["pp"].get_local_rank()
        model = PipelineHalf(whole, stage)
        super().__init__(layout, model, model)
        self.copies = mesh["dp"].get_group() if mesh["dp"].size() > 1 else None
        held = PipelineStage(model, stage, 2, torch.device("cpu"), group=mesh["pp"].get_group())
        self.schedule = ScheduleGPipe(held, layout.micro, loss_fn=_token_loss)

    def gradients(self, batches: Iterable[torch.Tensor]) -> None:
        """Run the schedule over one batch, which it cuts into micro-batches."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        (samples,) = batches
        if isinstance(self.model, PipelineHalf) and self.model.last:
            self.schedule.step(target=samples[:, 1:])
        else:
            self.schedule.step(samples[:, :-1])
        if self.copies is not None:
            for each in self.model.parameters():
                grad: Any = each.grad
                dist.all_reduce(grad, group=self.copies)
                grad /= dist.get_world_size(self.copies)


def _token_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1))


class TensorModel(TrainedModel):
    """Feed-forward layers split over two ranks; copies of the pair average gradients."""

    def __init__(self, layout: TrainingLayout, model: TinyGpt, mesh: DeviceMesh) -> None:
        plan: dict[str, ParallelStyle] = {
            "forward_layer.0": ColwiseParallel(),
            "forward_layer.2": RowwiseParallel(),
        }
        for block in model.blocks:
            parallelize_module(block, mesh["tp"], plan)
        super().__init__(layout, model, model)
        self.copies = mesh["dp"].get_group() if mesh["dp"].size() > 1 else None

    def gradients(self, batches: Iterable[torch.Tensor]) -> None:
        """Average what the copies have."""
        super().gradients(batches)
        if self.copies is not None:
            for each in self.model.parameters():
                grad: Any = each.grad
                grad = grad.to_local() if hasattr(grad, "to_local") else grad
                dist.all_reduce(grad, group=self.copies)
                grad /= dist.get_world_size(self.copies)


def _sharded(layout: TrainingLayout, model: TinyGpt) -> TrainedModel:
    ranks = dist.get_world_size()
    if layout.parallel == "hybrid":
        mesh = init_device_mesh("cpu", (2, ranks // 2), mesh_dim_names=("dp_replicate", "dp_shard"))
    else:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return TrainedModel(layout, model, model)


def _split(layout: TrainingLayout, model: TinyGpt) -> TrainedModel:
    ranks, part = dist.get_world_size(), layout.part
    inner = "tp" if layout.parallel == "tensor" else "pp"
    mesh = init_device_mesh("cpu", (ranks // part, part), mesh_dim_names=("dp", inner))
    kind: Callable[..., TrainedModel] = TensorModel if inner == "tp" else PipelinedModel
    return kind(layout, model, mesh)


def built(layout: TrainingLayout, model: TinyGpt) -> TrainedModel:
    """Split a model over the ranks as its layout says."""
    if layout.parallel in ("fully_shard", "hybrid"):
        return _sharded(layout, model)
    if layout.part > 1:
        return _split(layout, model)
    return TrainedModel(layout, model, DistributedDataParallel(model))
