"""What a batch is known by afterwards: hashes of its samples, their ids, and a few figures.

The thread that trains copies the bytes of the batch where they lie in host memory (microseconds);
the sender's thread makes the fingerprint of them. A tensor on a device is left out: reading it
would wait for the device. Only hashes, ids and figures ever leave the process, no content.
"""

import ctypes
import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 20
"""Copied of one batch. Of a larger one so much of each sample as fits, from both of its ends."""
MOST_ROWS = 64
"""Samples with a hash of their own; of more, every nth."""
FIGURED = 16_384
"""Elements that figures are made of: from twice as many on torch would use several threads."""
MOST_IDS = 64

_TOKENS = ("input_ids", "tokens", "token_ids", "inputs", "input", "text", "src", "x", "data")
_LABELS = ("labels", "target", "targets")
_MASKS = ("loss_mask", "attention_mask", "mask")
_IDS = ("sample_ids", "sample_id", "ids", "id", "idx", "index", "indices", "__key__")
COUNTED = 1024
_ANEW = 16
_FEWEST_TOKENS = 32
_IGNORED = -100
"""The label that torch's cross entropy leaves out."""
_DEEPEST = 3
_WIDTHS = {"int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "float32": 4, "float64": 8,
           "bool": 1, "float16": 2, "bfloat16": 2}  # fmt: skip


@dataclass(slots=True)
class CopiedTensor:
    """Bytes of a tensor: `rows` parts one after the other, each `size` bytes long."""

    data: bytes
    rows: int
    size: int
    kind: str


@dataclass(slots=True)
class BatchFingerprint:
    """One micro-batch. Filled in the sender's thread, where `copied` goes once it is done.

    step: the one that it was used in, -1 until that is known. rows: a hash of each sample.
    figures: the mean of the elements; repeated: the share of them that equal the one before;
    rarity: how rare its tokens were in the batches before, in bits a token; masked: the share that
    the loss leaves out; only those that are known. size: elements of the
    batch. epoch: a number of the pass over the data that it is part of.
    """

    ids: tuple[str | int, ...] = ()
    samples: int = 0
    size: int = 0
    step: int = -1
    micro: int = 0
    epoch: int = 0
    copied: CopiedTensor | None = None
    mask: CopiedTensor | None = None
    rows: tuple[int, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Return the hash of the whole batch, 16 hexadecimal digits; empty where there is none."""
        return combined(self.rows) if self.rows else ""


def combined(rows: Iterable[int]) -> str:
    """Return one hash, 16 hexadecimal digits, of hashes in their order."""
    joined = b"".join(row.to_bytes(8, "big") for row in rows)
    return hashlib.sha256(joined).hexdigest()[:16]


def take(batch: Any, ids: Iterable[Any] | None = None) -> BatchFingerprint | None:
    """Copy what a fingerprint needs; None where the batch holds no tensor in host memory."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    tensor = _tokens(batch, torch.Tensor, 0)
    if tensor is None:
        return None
    copied = _copied(tensor)
    if copied is None:
        return None
    mask = None
    found: Iterable[Any] | None = ids
    if isinstance(batch, Mapping) or hasattr(batch, "keys"):
        named = _first(batch, _LABELS, torch.Tensor)
        named = named if named is not None else _first(batch, _MASKS, torch.Tensor)
        mask = None if named is None or named is tensor else _copied(named)
        found = ids if ids is not None else _named_ids(batch)
    elif ids is None and isinstance(batch, list | tuple):
        found = next((one for one in batch if _are_names(one)), None)
    shape = tensor.shape
    return BatchFingerprint(
        ids=_plain(found),
        samples=int(shape[0]) if len(shape) > 1 else 1,
        size=int(tensor.numel()),
        copied=copied,
        mask=mask,
    )


def finish(print_: BatchFingerprint, counts: "TokenCounts | None" = None) -> None:
    """Make hashes and figures of what was copied, and let go of it; called once."""
    copied, print_.copied = print_.copied, None
    mask, print_.mask = print_.mask, None
    if copied is None:
        return
    view = memoryview(copied.data)
    print_.rows = tuple(
        int.from_bytes(
            hashlib.sha256(view[row * copied.size : (row + 1) * copied.size]).digest()[:8], "big"
        )
        for row in range(copied.rows)
    )
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    print_.figures = {"size": float(print_.size), **_figures(torch, copied)}
    if counts is not None:
        print_.figures |= counts.rarity(torch, copied)
    if mask is not None:
        values = _values(torch, mask)
        if values is not None and values.numel():
            out = values == (_IGNORED if mask.kind == "int64" and bool((values < 0).any()) else 0)
            if mask.kind != "int64" or bool((values < 0).any()) or bool((values <= 1).all()):
                print_.figures["masked"] = float(out.sum()) / values.numel()


class TokenCounts:
    """How often each token came so far, those of large vocabularies several to a count.

    Lives in the sender's thread.
    """

    def __init__(self) -> None:
        self._counts: Any = None
        self._bits: Any = None
        self._batches = 0

    def rarity(self, torch: Any, copied: CopiedTensor) -> dict[str, float]:
        """Return the figure of a batch, and count its tokens; nothing of what is no token."""
        if not copied.kind.startswith("int"):
            return {}
        values = _values(torch, copied)
        if values is None or values.numel() < _FEWEST_TOKENS:
            return {}
        here = torch.bincount(values.to(torch.int64) % COUNTED, minlength=COUNTED).float()
        if self._counts is None:
            self._counts = torch.ones_like(here)
        elif self._bits is None or self._batches % _ANEW == 0:
            self._bits = -torch.log2(self._counts / self._counts.sum())
        self._batches += 1
        self._counts += here
        if self._bits is None:
            return {}
        return {"rarity": float(torch.dot(self._bits, here)) / values.numel()}


def _figures(torch: Any, copied: CopiedTensor) -> dict[str, float]:
    values = _values(torch, copied)
    if values is None or values.numel() < 2:
        return {}
    whole = not copied.kind.startswith(("float", "bfloat"))
    found = {"mean": float(values.to(torch.float64).mean())}
    if whole:
        found["repeated"] = float((values[1:] == values[:-1]).sum()) / (values.numel() - 1)
    return found


def _values(torch: Any, copied: CopiedTensor) -> Any:
    """Return elements from all over the copy, at most FIGURED, as a tensor; None for no kind."""
    kind = getattr(torch, copied.kind, None)
    if kind is None or not copied.data:
        return None
    values = torch.frombuffer(bytearray(copied.data), dtype=kind)
    if values.numel() <= FIGURED:
        return values
    length = 64
    blocks = values[: values.numel() // length * length].view(-1, length)
    stride = -(-blocks.shape[0] * length // FIGURED)
    return blocks[::stride].reshape(-1)


def _tokens(batch: Any, tensor: type, depth: int) -> Any:
    """Return the tensor that the batch is known by: its tokens, else its first one."""
    if type(batch) is tensor:
        return batch
    if depth >= _DEEPEST:
        return None
    if isinstance(batch, Mapping) or hasattr(batch, "keys"):
        named = _first(batch, _TOKENS, tensor)
        if named is not None:
            return named
        inside: Iterable[Any] = [batch[name] for name in list(batch.keys())[:16]]
    elif isinstance(batch, list | tuple):
        inside = batch[:8]
    else:
        return None
    for one in inside:
        found = _tokens(one, tensor, depth + 1)
        if found is not None:
            return found
    return None


def _first(batch: Any, names: tuple[str, ...], tensor: type) -> Any:
    held = set(batch.keys())
    return next(
        (batch[name] for name in names if name in held and type(batch[name]) is tensor), None
    )


def _named_ids(batch: Any) -> Iterable[Any] | None:
    held = set(batch.keys())
    name = next((name for name in _IDS if name in held), None)
    if name is None:
        return None
    found = batch[name]
    files: Any = batch["__url__"] if name == "__key__" and "__url__" in held else None
    if _are_names(found) and _are_names(files) and len(files) == len(found):
        return [f"{Path(file).name}:{one}" for file, one in zip(files, found, strict=True)]
    if hasattr(found, "tolist"):
        if getattr(getattr(found, "device", None), "type", "cpu") != "cpu":
            return None
        found = found.tolist()
    return found if isinstance(found, list | tuple) else [found]


def _are_names(found: Any) -> bool:
    """Tell whether a part of a batch is a text for each sample, as webdataset's keys are."""
    return isinstance(found, list | tuple) and len(found) > 0 and {str} == set(map(type, found))


def _plain(ids: Iterable[Any] | None) -> tuple[str | int, ...]:
    kept: list[str | int] = []
    for one in ids or ():
        if isinstance(one, bool) or one is None:
            continue
        kept.append(one if isinstance(one, int) else str(one)[:120])
        if len(kept) >= MOST_IDS:
            break
    return tuple(kept)


def _copied(tensor: Any) -> CopiedTensor | None:
    if tensor.device.type != "cpu" or not tensor.is_contiguous() or not tensor.numel():
        return None
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind not in _WIDTHS:
        return None
    shape = tensor.shape
    rows = int(shape[0]) if len(shape) > 1 else 1
    size = int(tensor.numel()) // rows * _WIDTHS[kind]
    address = tensor.data_ptr()
    stride = -(-rows // MOST_ROWS)
    kept = -(-rows // stride)
    if stride == 1 and rows * size <= MOST_BYTES:
        return CopiedTensor(ctypes.string_at(address, rows * size), rows, size, kind)
    part = min(size, MOST_BYTES // kept)
    if part < size:  # whole elements from the beginning and from the end
        part = max(part // 16 * 16, 16)
        parts = [
            ctypes.string_at(address + row * size, part // 2)
            + ctypes.string_at(address + (row + 1) * size - part // 2, part // 2)
            for row in range(0, rows, stride)
        ]
    else:
        parts = [ctypes.string_at(address + row * size, size) for row in range(0, rows, stride)]
    return CopiedTensor(b"".join(parts), len(parts), len(parts[0]), kind)
