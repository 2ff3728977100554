"""Where a sample of a well-known kind of dataset lies: a file and what is counted in it.

Known by what they are made of, as the probe imports no library of the job: torch's Subset and
ConcatDataset, datasets.Dataset of Hugging Face (also selected and shuffled ones), Megatron's
GPTDataset over an indexed dataset, and whatever has a method `locate`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

_DEEPEST = 4


def located(dataset: Any, index: int) -> str:
    """Return the place of a sample, empty where the kind of dataset is not known."""
    for _ in range(_DEEPEST):
        own = getattr(dataset, "locate", None)
        if callable(own):
            return str(own(index))
        found = next((text for read in _READERS if (text := read(dataset, index))), "")
        if found:
            return found
        inner = _inner(dataset, index)
        if inner is None:
            return ""
        dataset, index = inner
    return ""


def _inner(dataset: Any, index: int) -> tuple[Any, int] | None:
    """Return the dataset that one is made of, and the index there."""
    parts, ends = getattr(dataset, "datasets", None), getattr(dataset, "cumulative_sizes", None)
    if isinstance(parts, list) and isinstance(ends, list):
        place = next((place for place, end in enumerate(ends) if index < end), None)
        if place is None:
            return None
        return parts[place], index - (ends[place - 1] if place else 0)
    part, indices = getattr(dataset, "dataset", None), getattr(dataset, "indices", None)
    if part is not None and indices is not None:
        return part, int(indices[index])
    return None


def _row(dataset: Any, index: int) -> str:
    """Return the row of a Hugging Face dataset before it was shuffled or selected from."""
    table, files = getattr(dataset, "_data", None), getattr(dataset, "cache_files", None)
    if table is None or not isinstance(files, list):
        return ""
    chosen = getattr(dataset, "_indices", None)
    row = index if chosen is None else int(chosen.column(0)[index].as_py())
    if getattr(chosen, "path", None):
        files = files[:-1]  # the last one holds the order
    if len(files) == 1:
        return f"{Path(str(files[0].get('filename', ''))).name}:{row}"
    return "" if chosen is None else f"row {row}"


def _document(dataset: Any, index: int) -> str:
    """Return the file of an indexed dataset, the document and the token that a sample begins at."""
    shuffled = getattr(dataset, "shuffle_index", None)
    begins, order = getattr(dataset, "sample_index", None), getattr(dataset, "document_index", None)
    if shuffled is None or begins is None or order is None:
        return ""
    place, token = begins[int(shuffled[index])]
    prefix = Path(str(getattr(dataset, "dataset_path", None) or "documents")).name
    return f"{prefix}:{int(order[int(place)])}:{int(token)}"


_READERS: tuple[Callable[[Any, int], str], ...] = (_row, _document)
