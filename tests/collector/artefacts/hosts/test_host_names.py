import pytest

from rankscope.collector.artefacts.hosts import host_names


@pytest.mark.parametrize(
    ("file", "host"),
    [
        ("dmesg-node1.log", "node1"),
        ("dmesg_node-a.txt", "node-a"),
        ("gpu-12.dmesg", "gpu-12"),
        ("messages-gpu-12-20261112", "gpu-12"),
        ("node-a/dmesg.txt", "node-a"),
        ("logs/worker-1/kern.log", "worker-1"),
        ("journal_ip-10-0-0-1.json.log", "ip-10-0-0-1.json"),
        ("dmesg.txt", ""),
        ("dmesg", ""),
        ("job-1234/dmesg.txt", ""),
        ("dmesg-crash.txt", ""),
        ("syslog.1", ""),
    ],
)
def test_a_log_s_name_or_its_folder_s_tells_the_host(file, host):
    assert host == host_names.of_file(file)


@pytest.mark.parametrize(
    ("named", "file", "hosts", "kernels", "expected"),
    [
        ("node-a.example.org", "dmesg", ["node-a", "node-b"], 1, "node-a"),
        ("node-c", "dmesg", ["node-a", "node-b"], 1, "node-c"),
        ("", "dmesg_node-1.txt", ["node-1", "node-10"], 0, "node-1"),
        ("", "dmesg_node-10.txt", ["node-1", "node-10"], 0, "node-10"),
        ("", "dmesg.txt", ["node-1"], 0, "node-1"),
        ("gke-pool-7", "dmesg.txt", ["trainer-worker-0"], 1, "trainer-worker-0"),
        ("node-b", "dmesg.txt", ["node-a"], 1, "node-b"),
        ("gpu-13", "dmesg.txt", ["gpu-12"], 1, "gpu-13"),
        ("gke-pool-7", "dmesg.txt", ["trainer-worker-0"], 2, "gke-pool-7"),
        ("", "dmesg_node-5.txt", [], 0, "node-5"),
    ],
)
def test_a_kernel_s_line_is_of_the_host_as_the_job_calls_it(named, file, hosts, kernels, expected):
    assert expected == host_names.among(named, file, hosts, kernels)
