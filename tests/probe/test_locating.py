"""Samples are named by file and place for kinds of datasets that are made of the same parts."""

from types import SimpleNamespace

import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset

from rankscope.probe import locating


class Shards(Dataset[int]):
    def __init__(self, name):
        self.name = name

    def __len__(self):
        return 10

    def locate(self, index):
        return f"{self.name}:{index}"


def order(*rows, path=None):
    column = [SimpleNamespace(as_py=lambda row=row: row) for row in rows]
    return SimpleNamespace(column=lambda _: column, path=path)


def table(*files, rows=None):
    """Return what datasets.Dataset has: a table, an order of its rows, and the files of both."""
    names = [{"filename": f"/data/{name}"} for name in files]
    return SimpleNamespace(_data=object(), _indices=rows, cache_files=names)


def documents():
    """Return what GPTDataset of Megatron has: where its samples begin, in a shuffled order."""
    return SimpleNamespace(
        shuffle_index=[1, 0],
        sample_index=[(0, 0), (2, 17), (3, 0)],
        document_index=[5, 9, 7, 8],
        dataset_path="/data/wiki_text_document",
    )


@pytest.mark.parametrize(
    ("dataset", "index", "place"),
    [
        pytest.param(Shards("a"), 3, "a:3", id="one that can say"),
        pytest.param(Subset(Shards("a"), [7, 8]), 1, "a:8", id="a part of it"),
        pytest.param(ConcatDataset([Shards("a"), Shards("b")]), 13, "b:3", id="two in a row"),
        pytest.param(ConcatDataset([Shards("a")]), 13, "", id="beyond the end"),
        pytest.param(table("x.arrow"), 4, "x.arrow:4", id="a table in a file"),
        pytest.param(table("x.arrow", rows=order(6, 2)), 1, "x.arrow:2", id="shuffled"),
        pytest.param(
            table("x.arrow", "order.arrow", rows=order(6, 2, path="/data/order.arrow")),
            0,
            "x.arrow:6",
            id="shuffled, the order in a file",
        ),
        pytest.param(table("x.arrow", "y.arrow", rows=order(6, 2)), 1, "row 2", id="two files"),
        pytest.param(table(), 4, "", id="a table in memory"),
        pytest.param(documents(), 0, "wiki_text_document:7:17", id="an indexed dataset"),
        pytest.param(TensorDataset(torch.zeros(4)), 1, "", id="an unknown one"),
        pytest.param(None, 1, "", id="one that is gone"),
    ],
)
def test_a_sample_is_named_by_where_it_lies(dataset, index, place):
    assert place == locating.located(dataset, index)


def test_a_dataset_that_holds_itself_ends_the_search():
    circle = SimpleNamespace(indices=[0])
    circle.dataset = circle
    assert "" == locating.located(circle, 0)
