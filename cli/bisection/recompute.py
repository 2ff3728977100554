"""Recompute a step of a training job from its checkpoint: again, elsewhere, without its batch.

Written by `rankscope bisect`; needs torch, the trainer and a checkpoint, nothing of Rankscope.
Run it on the host of the suspect rank:

    python THIS_FILE TRAINER.py --other-device cuda:1

TRAINER.py is yours, with three functions:

    load(device, step) -> (state, first)   model, optimizer, data and random numbers from the last
                                           checkpoint at or before `step`; `first`: where it is
    batch(state, step) -> batch            the batch of the rank in that step, in the order of then;
                                           that of the step before stands in for the suspect one
    train(state, batch, step) -> loss      one update as the job makes it; a number, or a mapping
                                           with `loss` and, where it is known, `grad_norm`

Each experiment is a process of its own. `cpu:3` means the CPU with the process on core 3. Where the
other device is in another host, run it there with `--only elsewhere --other-device cuda:0`, and
copy the results beside these.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = {}
EXPERIMENTS = ("again", "again_too", "elsewhere", "without")
"""The second one says whether the same device gives the same numbers twice."""


def main() -> int:
    """Run the experiments, or in a process of its own one of them; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trainer", type=Path, help="file with load, batch and train")
    parser.add_argument("--device", default="cuda:0", help="of the suspect rank (default: cuda:0)")
    parser.add_argument("--other-device", help="one that is sound as far as is known")
    parser.add_argument("--only", action="append", choices=EXPERIMENTS, help="may be repeated")
    parser.add_argument("--results", type=Path, default=Path("bisect-results.json"))
    parser.add_argument("--experiment", choices=EXPERIMENTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.experiment:
        rows = experiment(given.experiment, given.trainer, given.device)
        given.results.write_text(json.dumps(rows), encoding="utf-8")
        return 0
    if given.other_device is None and (given.only is None or "elsewhere" in given.only):
        print("no --other-device: silicon cannot be told from code", file=sys.stderr)
    found: dict[str, Any] = {"plan": PLAN, "device": given.device, "experiments": {}}
    if given.results.exists():
        held = json.loads(given.results.read_text(encoding="utf-8"))
        if held["plan"] == PLAN:
            found["experiments"] = held["experiments"]
    failed = 0
    for name in given.only or EXPERIMENTS:
        device = given.other_device if name == "elsewhere" else given.device
        if device is None:
            continue
        print(f"{name}: on {device} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.json"
            command = [sys.executable, __file__, str(given.trainer), "--experiment", name,
                       "--device", device, "--results", str(out)]  # fmt: skip
            done = subprocess.run(command, check=False)
            if done.returncode == 0:
                rows = json.loads(out.read_text(encoding="utf-8"))
                found["experiments"][name] = {"device": device, "steps": rows}
            else:
                failed += 1
                print(f"{name}: failed with exit code {done.returncode}", file=sys.stderr)
        given.results.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"{given.results}: read it with `rankscope bisect --read {given.results}`")
    return 1 if failed else 0


def experiment(name: str, trainer_file: Path, device: str) -> list[dict[str, Any]]:
    """Return a row a step, from the checkpoint to some steps after the suspect one."""
    kind, _, core = device.partition(":")
    if kind == "cpu" and core:
        os.sched_setaffinity(0, {int(core)})
        os.environ["RANKSCOPE_BISECT_DEVICE"] = device
        device = "cpu"
    import torch  # noqa: PLC0415  after the process has its core

    torch.use_deterministic_algorithms(True, warn_only=True)
    trainer = _module(trainer_file)
    suspect, last = int(PLAN["step"]), int(PLAN["step"]) + int(PLAN["after"])
    state, first = trainer.load(device, suspect)
    if first > suspect:
        raise SystemExit(f"the checkpoint is at step {first}, after step {suspect}")
    rows: list[dict[str, Any]] = []
    before: Any = None
    for step in range(first, last + 1):
        batch = trainer.batch(state, step)
        if name == "without" and step == suspect:
            if before is None:
                raise SystemExit("no step before the suspect one: take an earlier checkpoint")
            batch = before  # the update is made all the same: what else is in this step stays
        before = batch
        result = trainer.train(state, batch, step)
        result = result if isinstance(result, dict) else {"loss": result}
        row = {key: float(value) for key, value in result.items() if value is not None}
        rows.append({"step": step, **{key: _text(value) for key, value in row.items()},
                     "weights": weights(torch, state)})  # fmt: skip
    return rows


def weights(torch: Any, state: Any) -> str:
    """Return a digest of the parameters of every module in the state; empty where it has none."""
    inside = state.values() if isinstance(state, dict) else getattr(state, "__dict__", {}).values()
    many = state if isinstance(state, list | tuple) else inside
    modules: list[Any] = [one for one in (state, *many) if isinstance(one, torch.nn.Module)]
    if not modules:
        return ""
    digest = hashlib.sha256()
    for module in modules:
        for name, parameter in module.named_parameters():
            data = parameter.detach().to("cpu").contiguous().view(-1).view(torch.uint8)
            digest.update(name.encode())
            digest.update(
                bytes(data.tolist()) if data.numel() < 1 << 16 else data.numpy().tobytes()
            )
    return digest.hexdigest()[:16]


def _text(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _module(path: Path) -> Any:
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location("bisected_trainer", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("load", "batch", "train"):
        if not callable(getattr(module, name, None)):
            raise SystemExit(f"{path} has no function {name}")
    return module


if __name__ == "__main__":
    sys.exit(main())
