#!/usr/bin/env bash
# datasets 5.2.0 with torchdata 0.11.0 on torch 2.13.0: a stream of eight shards, shuffled, in a
# StatefulDataLoader; its state is saved in the middle and loaded into a new loader that is made alike.
#
# Guess: it goes on where it was, without the samples that were in the buffer, as the documentation says. Seen:
# that is so without workers and with one. With two or more workers, which have the shards divided among them,
# saving goes well at every step, and none of what was saved can be loaded: the state of a worker has as many
# entries as it has shards, and is put into that of a stream with all shards, before they are divided. So each
# start after a failure ends with IndexError out of a worker, and the position is lost; without loading it the
# data begins anew. A stream that is not shuffled goes on to the sample, with any number of workers: who tries it
# with that one sees nothing.
#
# Installs them in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); two minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 torchdata==0.11.0 datasets==5.2.0 numpy 2>/dev/null
HF_HOME=$folder HF_HUB_OFFLINE=1 "$folder/venv/bin/python" -W ignore - 2>/dev/null <<'PYTHON'
import sys

from datasets import IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader


def numbers(shards):
    for shard in shards:
        for number in range(20):
            yield {"number": shard * 20 + number}


def stream():
    return IterableDataset.from_generator(numbers, gen_kwargs={"shards": list(range(8))})


STREAMS = {
    "plain": stream,
    "shuffled": lambda: stream().shuffle(seed=1, buffer_size=10),
}


def loader(name, workers):
    return StatefulDataLoader(
        STREAMS[name](), batch_size=4, num_workers=workers,
        collate_fn=lambda rows: [row["number"] for row in rows],
    )


def resume(name, workers, batches):
    """How many of the samples that were left come after loading, or the kind of error."""
    first = loader(name, workers)
    running = iter(first)
    for _ in range(batches):
        next(running)
    state = first.state_dict()
    left = {number for batch in running for number in batch}
    second = loader(name, workers)
    try:
        second.load_state_dict(state)
        return len(left & {number for batch in second for number in batch}) / len(left)
    except IndexError as error:
        return type(error).__name__


same = True
for name in STREAMS:
    for workers in (0, 1, 2, 4):
        seen = [resume(name, workers, batches) for batches in (1, 25)]
        print(f"{name}, {workers} workers: after 1 and 25 batches " +
              ", ".join(one if isinstance(one, str) else f"{one:.0%} of what was left" for one in seen), flush=True)
        if name == "plain":
            same = same and seen == [1.0, 1.0]
        elif workers > 1:
            same = same and seen == ["IndexError", "IndexError"]
        else:
            same = same and all(not isinstance(one, str) and one > 0.8 for one in seen)
if not same:
    print("this has changed")
sys.exit(0 if same else 1)
PYTHON
