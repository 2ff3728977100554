#!/usr/bin/env bash
# torchdata 0.11.0 on torch 2.13.0, StatefulDataLoader: its state is saved after three of eight batches, in the
# first and in the second epoch, and loaded into a new loader that is made alike, with the same seed, for each
# sampler of torch's.
#
# Guess: the loader's state holds the position, and that includes the order of the epoch, as the name promises; so
# it goes on with the fourth batch of that epoch, whatever the sampler. Seen: that is so for shuffle=True, for
# which the loader takes a sampler of its own. For one of torch's that was handed over, RandomSampler among them,
# which is what shuffle=True means elsewhere, the state holds the number of batches: the new loader asks the
# sampler for an order and skips as many of that one. A new process draws the order of its first epoch, with the
# same seed and with a generator of the sampler's own too, so it is right in the first epoch, where one tries it,
# and wrong in every later one: a quarter of the samples, here, are trained twice in that epoch and as many never,
# without a warning, with workers and without. DistributedSampler, which draws by the epoch's number, is right,
# and so is a generator that is seeded by the epoch. To who watches, the restart looks exact: steps, batches and
# epochs go on, and only the samples' numbers would tell.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where pip finds a
# build of torch for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ${INDEX:+--extra-index-url "$INDEX"} \
  torch==2.13.0 torchdata==0.11.0 numpy 2>/dev/null
cat >"$folder/resume.py" <<'PYTHON'
import copy
import sys
import warnings

import torch
from torch.utils import data
from torchdata.stateful_dataloader import StatefulDataLoader

SAMPLES, BATCH, DONE = 32, 4, 3
noted = []
warnings.showwarning = lambda message, *rest, **others: noted.append(str(message))
numbers = list(range(SAMPLES))


def own(seed=3):
    return torch.Generator().manual_seed(seed)


SAMPLERS = {
    "shuffle=True": lambda: {"shuffle": True},
    "RandomSampler": lambda: {"sampler": data.RandomSampler(numbers)},
    "DistributedSampler": lambda: {"sampler": data.DistributedSampler(numbers, num_replicas=1, rank=0)},
    "SubsetRandomSampler": lambda: {"sampler": data.SubsetRandomSampler(numbers)},
    "SubsetRandomSampler, own generator": lambda: {"sampler": data.SubsetRandomSampler(numbers, generator=own())},
    "SubsetRandomSampler, own generator seeded by the epoch": lambda: {
        "sampler": data.SubsetRandomSampler(numbers, generator=own())
    },
    "WeightedRandomSampler, own generator": lambda: {
        "sampler": data.WeightedRandomSampler([1.0] * SAMPLES, SAMPLES, replacement=False, generator=own())
    },
}

DRAWN_ANEW = [name for name in SAMPLERS if "RandomSampler" in name and "seeded by the epoch" not in name]


def make(name, workers):
    torch.manual_seed(5)
    return StatefulDataLoader(numbers, batch_size=BATCH, num_workers=workers, **SAMPLERS[name]())


def set_epoch(name, loader, epoch):
    if name.endswith("seeded by the epoch"):
        loader.sampler.generator.manual_seed(epoch)
    if isinstance(loader.sampler, data.DistributedSampler):
        loader.sampler.set_epoch(epoch)


def resume(name, workers, epoch):
    """What was trained before the save and after the restart, and what would have followed without one."""
    loader = make(name, workers)
    for number in range(epoch):
        set_epoch(name, loader, number)
        list(loader)
    set_epoch(name, loader, epoch)
    batches = iter(loader)
    trained = [next(batches).tolist() for _ in range(DONE)]
    state = copy.deepcopy(loader.state_dict())
    left = [batch.tolist() for batch in batches]
    again = make(name, workers)
    set_epoch(name, again, epoch)
    again.load_state_dict(state)
    return sum(trained, []), [batch.tolist() for batch in again], left


same = True
for name in SAMPLERS:
    for epoch in (0, 1):
        for workers in (0, 1):
            trained, resumed, left = resume(name, workers, epoch)
            seen = trained + sum(resumed, [])
            twice, never = len(seen) - len(set(seen)), SAMPLES - len(set(seen))
            order = "as without a restart" if resumed == left else "another order"
            print(f"{name}, epoch {epoch + 1}, {workers} workers: {order}; of {SAMPLES} samples {twice} trained "
                  f"twice, {never} never", flush=True)
            if epoch == 1 and name in DRAWN_ANEW:
                same = same and resumed != left and twice == never > 0
            else:
                same = same and resumed == left and twice == never == 0
print("warned of it:", [text for text in noted if "sampler" in text.lower() or "state" in text.lower()])
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/resume.py"
