#!/usr/bin/env bash
# grain 0.2.18: the position in shuffled data after three of twelve batches, loaded where the batch, the seed or the
# number of ranks is another one, with its DataLoader and with its Dataset.
#
# Guess: one package has one idea of a position: the samples that were handed out, with a check that the data's
# order is still the same. Seen: the DataLoader's state names seed, shards and the last sample; it is exact with
# another batch and raises ValueError where seed or ranks differ. A MapDataset that is batched and then made an
# iterator has as its state one number, which counts batches, whatever is in them, and takes any: with twice the
# batch, or on twice the ranks each with the state of one that was, a quarter of the epoch is never trained; with
# half the batch samples come twice; with another seed both. Nothing is raised or warned. Batched after
# to_iter_dataset() the number counts samples, so that the batch may change, and seed and ranks go unnoticed as
# before. To who watches, a job that comes back with other hardware has a shorter or a longer epoch, and that is
# all that shows.
#
# Installs it in a temporary folder (PYTHON: which interpreter, python3 by default); a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check grain==0.2.18 numpy==2.4.6 2>/dev/null
cat >"$folder/positions.py" <<'PYTHON'
import logging
import sys

import grain.python as grain

SAMPLES, DONE = 48, 3
logging.getLogger("absl").setLevel(logging.ERROR)
numbers = list(range(SAMPLES))


def dataset(batch=4, seed=0, rank=0, ranks=1):
    shuffled = grain.MapDataset.source(numbers).seed(seed).shuffle()
    return iter(shuffled[rank::ranks].batch(batch).to_iter_dataset())


def batched_last(batch=4, seed=0, rank=0, ranks=1):
    shuffled = grain.MapDataset.source(numbers).seed(seed).shuffle()
    return iter(shuffled[rank::ranks].to_iter_dataset().batch(batch))


def data_loader(batch=4, seed=0, rank=0, ranks=1):
    shards = grain.ShardOptions(rank, ranks)
    sampler = grain.IndexSampler(SAMPLES, shuffle=True, seed=seed, num_epochs=1, shard_options=shards)
    loader = grain.DataLoader(
        data_source=numbers, sampler=sampler, operations=[grain.Batch(batch)], worker_count=0
    )
    return iter(loader)


def train(batches):
    return [int(number) for batch in batches for number in batch]


def resume(make, ranks, **new):
    """What is trained twice and never, or how it is refused; each new rank gets the state of a rank that was."""
    trained, states = [], []
    was = max(1, ranks // 2)
    for rank in range(was):
        batches = make(rank=rank, ranks=was)
        trained += train([next(batches) for _ in range(DONE)])
        states.append(batches.get_state())
    for rank in range(ranks):
        batches = make(rank=rank, ranks=ranks, **new)
        try:
            batches.set_state(states[rank % was])
        except ValueError as error:
            return f"refused: {str(error).splitlines()[0]}"
        trained += train(batches)
    twice, never = len(trained) - len(set(trained)), SAMPLES - len(set(trained))
    return f"{twice} of {SAMPLES} samples twice, {never} never"


seen = {}
for make in (data_loader, dataset, batched_last):
    for what, ranks, new in (
        ("as before", 1, {}), ("batch of 8", 1, {"batch": 8}), ("batch of 2", 1, {"batch": 2}),
        ("another seed", 1, {"seed": 1}), ("twice the ranks", 2, {}),
    ):
        seen[make.__name__, what] = resume(make, ranks, **new)
        print(f"{make.__name__}, {what}: {seen[make.__name__, what]}", flush=True)
exact = "0 of 48 samples twice, 0 never"
same = all(seen[make, "as before"] == exact for make in ("data_loader", "dataset", "batched_last"))
same = same and all(seen[make, f"batch of {n}"] == exact for make in ("data_loader", "batched_last") for n in (8, 2))
same = same and all(seen["data_loader", what].startswith("refused") for what in ("another seed", "twice the ranks"))
same = same and seen["dataset", "batch of 8"] == seen["dataset", "twice the ranks"] == exact.replace("0 n", "12 n")
same = same and seen["dataset", "batch of 2"] == exact.replace("0 of", "6 of")
for make in ("dataset", "batched_last"):
    same = same and seen[make, "another seed"] not in (exact, "") and "refused" not in seen[make, "another seed"]
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/positions.py"
