"""Names are replaced consistently, and what evidence is made of is kept."""

import pytest

from rankscope.collector.recordings.anonymising import StandInNames
from rankscope.vocabulary.samples import TelemetryResource


@pytest.fixture
def names():
    return StandInNames(hosts={"gpu-12.acme.example", "gpu-02.acme.example"}, jobs={"llama-alice"})


def test_hosts_are_numbered_in_their_order(names):
    found = [
        names.resource(TelemetryResource(host=f"gpu-{n}.acme.example")).host for n in ("02", "12")
    ]
    assert ["host-0001", "host-0002"] == found


def test_a_resource_has_no_name_left(names):
    extra = (("k8s.pod.name", "llama-alice-0"), ("network.switch", "acme-leaf-3"))
    found = names.resource(
        TelemetryResource("gpu-02.acme.example", "llama-alice", 2, "acme", "rankscope-agent", extra)
    )
    expected = (("k8s.pod.name", "pod-0001"), ("network.switch", "switch-0001"))
    assert (
        TelemetryResource("host-0001", "job-0001", 2, "cluster-0001", "rankscope-agent", expected)
        == found
    )


def test_numbers_ranks_and_fixed_words_are_kept(names):
    pairs = {"rank": 3, "reason": "thermal_hw", "of": "loss", "group": "dp:a1", "pid": 7}
    assert pairs == names.pairs(pairs)


def test_one_name_has_one_stand_in_in_every_attribute(names):
    one = names.pairs({"hw.id": "GPU-8f3a", "k8s.node.name": "gpu-12.acme.example"})
    other = names.pairs({"gpu.uuid": "GPU-8f3a"})
    assert {"hw.id": "GPU-device-0001", "k8s.node.name": "host-0002"} == one
    assert one["hw.id"] == other["gpu.uuid"]


def test_a_log_keeps_the_words_that_detectors_look_for(names):
    line = "RuntimeError: rank 3 on gpu-12.acme.example: connect to 10.1.2.3<4012> timed out"
    expected = "RuntimeError: rank 3 on host-0002: connect to 192.0.2.1<4012> timed out"
    assert expected == names.text(line)


def test_a_log_loses_users_paths_and_secrets(names):
    found = names.text("PermissionError: /home/zoltan/acmelm/train.py token hf_Qx7Lm fe80::1:2:3")
    for secret in ("zoltan", "acmelm", "hf_Qx7Lm", "fe80::"):
        assert secret not in found
    assert names.text("zoltan zoltan").split()[0] == names.text("zoltan")


def test_entities_are_renamed_by_what_is_known(names):
    assert "host-0002/mlx5_0:1" == names.identity("gpu-12.acme.example/mlx5_0:1")
    assert "37" == names.identity("37")


def test_usual_mounts_are_kept_and_others_are_not(names):
    assert {"mountpoint": "/dev/shm"} == names.pairs({"mountpoint": "/dev/shm"})
    assert {"mountpoint": "/mount-0001"} == names.pairs({"mountpoint": "/mnt/acme"})
