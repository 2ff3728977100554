#!/usr/bin/env bash
# torch 2.13.0, DataLoader over a data set with a length whose __getitem__ reads on in a file of its own with
# next(), which is empty sooner than it should be: without workers, with two, and with one whose file is shorter
# than the other's.
#
# Guess: an error, as Python makes of a StopIteration within a generator (RuntimeError), and as any other
# exception of a worker, which comes with its traceback; at the least a warning that batches are missing, as there
# is one where a data set hands out more than its length. Seen: the loop ends as if the epoch were over, without a
# word. A worker carries the StopIteration over to the process that trains, where it ends the loop for all
# workers: batches that the others had made are thrown away. So one short shard makes each epoch short, which
# nothing shows but the number of steps; a rank of several whose epoch is shorter than that of the others leaves
# them in an all-reduce, and is the one that looks done. With a default, next(file, None), or next() in a function
# that raises another error, it would be seen.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 numpy 2>/dev/null
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { tail -3 "$folder/log"; exit 1; }
import sys
import warnings

import torch

noted = []
warnings.showwarning = lambda message, *rest, **others: noted.append(str(message))


class Numbers(torch.utils.data.Dataset):
    """32 samples, of which the files hold fewer: so many for each worker."""

    def __init__(self, *held):
        self.held = held
        self.file = None

    def __len__(self):
        return 32

    def __getitem__(self, number):
        if self.file is None:
            worker = torch.utils.data.get_worker_info()
            self.file = iter(range(self.held[worker.id if worker else 0]))
        return next(self.file)


class Later(Numbers):
    def __getitem__(self, number):
        try:
            return super().__getitem__(number)
        except StopIteration:
            raise EOFError("file ended") from None


def batches(data, workers):
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=workers)
    try:
        return len(loader), sum(1 for _ in loader)
    except EOFError as error:
        return len(loader), type(error).__name__


seen = {
    "no workers": batches(Numbers(10), 0),
    "two workers": batches(Numbers(10, 10), 2),
    "two workers, the file of one short": batches(Numbers(4, 1000), 2),
    "two workers, another error": batches(Later(4, 1000), 2),
}
for how, (length, came) in seen.items():
    print(f"{how}: {length} batches by its length, {came} came")
print("warned of:", noted)
expected = {
    "no workers": (16, 5), "two workers": (16, 10), "two workers, the file of one short": (16, 4),
    "two workers, another error": (16, "EOFError"),
}
same = seen == expected and not any("length" in text for text in noted)
if not same:
    print("this has changed")
sys.exit(0 if same else 1)
PYTHON
