from rankscope.formats.kernel_log import KernelLogParser, OomKill

GROUP = "/kubepods.slice/kubepods-burstable.slice/pod1/cri-1.scope"
CONSTRAINT = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-1.scope,mems_allowed=0-1,"
    f"oom_memcg={GROUP},task_memcg={GROUP},task=python3,pid=4711,uid=1000"
)
KILLED = (
    "Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0"
)


def test_a_kill_is_told_once_with_process_and_cgroup(read):
    (kill,) = read("python3 invoked oom-killer: gfp_mask=0xcc0, order=0", CONSTRAINT, KILLED)
    assert isinstance(kill, OomKill)
    assert (4711, "python3", GROUP) == (kill.pid, kill.process, kill.cgroup)


def test_a_kill_of_the_whole_machine_has_no_limit_but_a_cgroup(read):
    (kill,) = read(
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
        "task_memcg=/user.slice,task=java,pid=99,uid=0",
        "Out of memory: Killed process 99 (java) total-vm:1kB, anon-rss:1kB",
    )
    assert (99, "java", "/user.slice") == (kill.pid, kill.process, kill.cgroup)


def test_older_kernels_name_the_cgroup_on_a_line_before(read):
    (kill,) = read(
        "Task in /docker/abc killed as a result of limit of /docker/abc",
        "Memory cgroup out of memory: Kill process 123 (python) score 1000 or sacrifice child",
        "Killed process 123 (python) total-vm:100kB, anon-rss:90kB, file-rss:0kB, shmem-rss:0kB",
    )
    assert (123, "python", "/docker/abc") == (kill.pid, kill.process, kill.cgroup)


def test_kernels_3_and_4_without_a_cgroup(read):
    (kill,) = read(
        "Out of memory: Kill process 5 (a b) score 1 or sacrifice child",
        "Killed process 5, UID 1000, (a b) total-vm:1kB",
    )
    assert 5 == kill.pid


def test_a_group_that_is_killed_together_is_told_process_by_process(read):
    kills = read(
        CONSTRAINT,
        KILLED,
        f"Tasks in {GROUP} are going to be killed due to memory.oom.group set",
        "Memory cgroup out of memory: Killed process 4712 (pt_data_worker) total-vm:1kB",
        "Memory cgroup out of memory: Killed process 4713 (pt_data_worker) total-vm:1kB",
    )
    assert [4711, 4712, 4713] == [kill.pid for kill in kills]


def test_the_same_pid_killed_much_later_is_another_kill():
    parser = KernelLogParser()
    counts = [
        len(parser.feed(line, at))
        for line, at in ((CONSTRAINT, 0.0), (KILLED, 0.1), (KILLED, 3600.0))
    ]
    assert [1, 0, 1] == counts


def test_lines_that_only_mention_killing_report_nothing(read):
    assert [] == read(
        "oom_reaper: reaped process 4711 (python3), now anon-rss:0kB",
        "oom-kill:constraint=CONSTRAINT_MEMCG,pid=none",
        "systemd[1]: Killing process 5",
    )
