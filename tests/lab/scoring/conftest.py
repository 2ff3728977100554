"""Hand-made incidents and truths. Times are seconds after an onset at 1000."""

import pytest

from rankscope.lab.scoring.results import CaseResult
from rankscope.lab.scoring.seen import CaseTruth, SeenIncident
from rankscope.vocabulary import entities
from rankscope.vocabulary.ranks import RankSet

ONSET = 1000.0


@pytest.fixture
def incident():
    def made(at=5.0, entity=None, **changes):
        severity = changes.pop("severity", "warning")
        row = {
            "id": f"i{at:g}",
            "jobs": ("train",),
            "severity": severity,
            "opened_at": ONSET + min(at, 1.0),
            "detected_at": ONSET + at,
            "above_info_at": None if severity == "info" else ONSET + at,
            "fault": "gpu.slow",
            "entity": entity,
            "standing_out": RankSet(),
            "symptoms": ("slow",),
            "summary": "slow",
        }
        return SeenIncident(**(row | changes))

    return made


@pytest.fixture
def truth():
    def made(fault="gpu.slow", entity=None, until=float("inf"), **effects):
        entity = entity or entities.gpu("GPU-3", "gpu-00", (3,))
        at = {name: ONSET + seconds for name, seconds in effects.items()}
        return CaseTruth(fault, entity, "train", ONSET, ONSET + until, effects=at)

    return made


@pytest.fixture
def result():
    def made(truth=None, found=(), **changes):
        case = {
            "suite": "tuning",
            "name": "one",
            "kind": "slow_gpu" if truth else None,
            "fault": truth.fault if truth else None,
            "strength": "plain",
            "shape": "small",
            "habit": "own",
            "missing": "none",
            "benign": "none",
            "seed": 1,
            "observable": True,
        }
        case |= {key: changes.pop(key) for key in list(changes) if key in case}
        row = {
            "key": case["name"],
            "case": case,
            "seconds": 864.0,
            "step_seconds": 2.0,
            "ranks": 8,
            "devices": 8,
            "samples": 100,
            "truth": truth,
            "found": {"rankscope": tuple(found)},
        }
        return CaseResult(**(row | changes))

    return made
