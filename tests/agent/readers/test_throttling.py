import pytest

from rankscope.agent.readers.throttling import CpuThrottlingReader

V2 = "35 24 0:30 / {root} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "36 24 0:31 / {root}/cpuset rw - cgroup cgroup rw,cpuset\n"
    "37 24 0:32 / {root}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.fixture
def cgroups(tmp_path):
    """Write files below a root that stands for /sys/fs/cgroup."""
    root = tmp_path / "cgroup"

    def write(**files: str):
        for name, text in files.items():
            path = root / name.replace("__", "/") / "cpu.stat"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return write


def samples(proc_root, make_trainer):
    trainer = make_trainer(100, rank=2)
    reader = CpuThrottlingReader(period=5, trainers=lambda: [trainer], proc=proc_root)
    return [(one.value, dict(one.attributes)) for one in reader.read(1.0)]


def test_version_2_counts_microseconds(proc, cgroups, make_trainer):
    root = cgroups(pod__job="usage_usec 5\nnr_throttled 3\nthrottled_usec 2500000\n")
    tree = proc(**{"self__mountinfo": V2.format(root=root), "100__cgroup": "0::/pod/job\n"})
    assert samples(tree, make_trainer) == [(2.5, {"rank": 2, "pid": 100, "cgroup": "/pod/job"})]


def test_version_1_counts_nanoseconds_in_the_hierarchy_of_the_cpu_controller(
    proc, cgroups, make_trainer
):
    root = cgroups(cpu__pod="nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n")
    tree = proc(
        **{
            "self__mountinfo": V1.format(root=root),
            "100__cgroup": "9:cpuset:/other\n5:cpu,cpuacct:/pod\n0::/\n",
        }
    )
    assert samples(tree, make_trainer) == [(1.5, {"rank": 2, "pid": 100, "cgroup": "/pod"})]


def test_a_container_that_sees_its_own_cgroup_as_the_root_finds_it(proc, cgroups, make_trainer):
    root = cgroups(job="throttled_usec 1000000\n")
    mount = V2.format(root=root).replace(" / ", " /kubepods/pod ", 1)
    tree = proc(**{"self__mountinfo": mount, "100__cgroup": "0::/kubepods/pod/job\n"})
    assert samples(tree, make_trainer)[0][0] == 1.0


def test_a_cgroup_that_is_not_visible_or_keeps_no_quota_says_nothing(proc, cgroups, make_trainer):
    root = cgroups(quiet="usage_usec 5\n")
    tree = proc(**{"self__mountinfo": V2.format(root=root), "100__cgroup": "0::/elsewhere\n"})
    assert samples(tree, make_trainer) == []
    proc(**{"100__cgroup": "0::/quiet\n"})
    assert samples(tree, make_trainer) == []


def test_without_any_cgroup_file_system_it_says_what_is_missing(proc):
    reader = CpuThrottlingReader(
        period=5, trainers=list, proc=proc(self__mountinfo="22 1 8:1 / / rw - ext4 a b\n")
    )
    supported, reason = reader.supported()
    assert not supported
    assert "cgroup" in reason
