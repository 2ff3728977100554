"""The cases of a seed: which job, which behaviours, which fault; made into a folder each."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from .. import otlp_lines
from . import plans
from .clusters import SimulatedCluster
from .faults.kinds import FAULTS
from .faults.scene import FaultScene

QUIET_CASES = 30
FAULT_CASES = 30


@dataclass(frozen=True, slots=True)
class CasePlan:
    """`id` says the fault, or quiet and a number; everything else is drawn from it and the seed."""

    id: str
    seed: int
    fault: str | None

    def rng(self) -> Random:
        return Random(zlib.crc32(f"{self.seed}/{self.id}".encode()))

    def job(self) -> tuple[plans.JobPlan, list[str]]:
        quiet = self.fault is None
        plan, names = plans.draw_plan(
            self.rng(), self.seed, quiet=quiet, most_hosts=8 if quiet else 4
        )
        return (plan if quiet else replace(plan, **FAULTS[str(self.fault)].plan)), names


def planned(seed: int) -> list[CasePlan]:
    """Return the quiet cases of a seed, then one of each of as many faults as there are cases."""
    rng = Random(seed)
    known = [
        fault
        for fault, kind in FAULTS.items()
        if seed >= plans.HELD_BACK_FROM or not kind.held_back
    ]
    faults = rng.sample(known, FAULT_CASES)
    if seed >= plans.HELD_BACK_FROM:
        held = [fault for fault in known if FAULTS[fault].held_back]
        faults = held + [one for one in faults if one not in held][: FAULT_CASES - len(held)]
    quiet = [CasePlan(f"quiet-{at:02d}", seed, None) for at in range(QUIET_CASES)]
    return quiet + [CasePlan(fault, seed, fault) for fault in sorted(faults)]


def smallest(cases: Iterable[CasePlan], at_most: int | None) -> list[CasePlan]:
    """Return the `at_most` quiet ones and as many faulty ones with the fewest ranks."""
    ordered = list(cases)
    if at_most is None:
        return ordered
    quiet, faulty = ([one for one in ordered if bool(one.fault) == bad] for bad in (False, True))
    kept = [sorted(some, key=_size)[:at_most] for some in (quiet, faulty)]
    return [one for one in ordered if one in kept[0] or one in kept[1]]


def make(case: CasePlan, folder: Path) -> None:
    """Simulate a case; write case.jsonl.gz and truth.json. The same case gives the same bytes."""
    plan, names = case.job()
    rng = Random(case.rng().random())
    kind = FAULTS[case.fault] if case.fault else None
    reporter = plans.draw_reporter(rng, case.seed, needs=kind.needs if kind else "")
    job_id = f"{rng.choice(('llm', 'vlm', 'rl', 'asr', 'rec'))}-{rng.randrange(10_000):04d}"
    cluster = SimulatedCluster(plan, reporter, rng, job_id)
    scene = None
    if kind is not None:
        onset = rng.uniform(0.35, 0.5) * plan.seconds
        weak = not kind.only_plain and rng.random() < 0.4
        scene = FaultScene(cluster, Random(rng.random()), weak, onset, rng.randrange(plan.ranks))
        kind.strike(scene)
    cluster.run()
    truth = {
        "id": case.id,
        "fault": case.fault,
        "strength": None if scene is None else "weak" if scene.weak else "plain",
        "onset": None if scene is None else cluster.recorder.epoch + scene.onset,
        "entity": None if scene is None else scene.entity,
        "ranks": [] if scene is None else scene.ranks,
        "also": [] if scene is None else scene.also,
        "job": job_id,
        "behaviours": names,
        "reporter": reporter.name,
        "size": plan.ranks,
        "minutes": plan.seconds / 60.0,
    }
    folder.mkdir(parents=True, exist_ok=True)
    otlp_lines.write(folder / "case.jsonl.gz", cluster.recorder.lines())
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


def _size(case: CasePlan) -> tuple[float, str]:
    plan, _ = case.job()
    return plan.ranks * plan.seconds, case.id
