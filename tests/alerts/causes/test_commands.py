"""What people are told to do: commands with the right names in them, quoted."""

import shlex

import pytest
from tests.alerts.explaining import explain

from rankscope.alerts.causes import wording
from rankscope.alerts.causes.catalogue import CauseAdvice
from rankscope.vocabulary import entities


def test_actions_and_checks_carry_host_rank_and_pid(stuck, topology):
    cause = explain(stuck, topology)
    action = cause.hypotheses[0].actions[0]
    assert "Look at the stack of rank 2 on host-b before anything is restarted" == action.text
    assert "ssh host-b py-spy dump --pid 1002" == action.command
    assert "ssh host-b py-spy dump --pid 1002" == cause.next_checks[0].command


@pytest.mark.parametrize(
    "host", ["x; rm -rf /", "$(reboot)", "`reboot`", "a b", "it's", "x\nreboot", "a|b&c"]
)
def test_commands_quote_hostile_names_for_the_shell(host, lay_out, found):
    topology = lay_out(hosts=("good", host))
    findings = [
        found("job.slow", topology.job_entity),
        *(found("rank.slow_compute", topology.rank_entity(rank)) for rank in (2, 3)),
        found("host.cpu_wait", topology.host_entity(host)),
    ]
    cause = explain(findings, topology)
    first = cause.hypotheses[0]
    assert host == first.entity.id
    commands = [row.command for row in first.actions] + [row.command for row in cause.next_checks]
    for command in filter(None, commands):
        assert ["ssh", host] == shlex.split(command)[:2]


@pytest.mark.parametrize("host", ["-oProxyCommand=reboot", "--help"])
def test_names_that_a_program_would_take_for_options_are_left_out_of_commands(host, lay_out, found):
    topology = lay_out(hosts=("good", host))
    findings = [found("host.silent", topology.host_entity(host))]
    first = explain(findings, topology).hypotheses[0]
    assert host == first.entity.id
    assert "ping -c 3 <host>" == first.actions[0].command


def test_a_device_id_is_quoted_too(topology, found):
    device = entities.gpu("GPU-2; reboot", "host-b", (2,))
    cause = explain(
        [
            found("job.slow", topology.job_entity),
            found("rank.slow_compute", topology.rank_entity(2)),
            found("gpu.throttled", device),
        ],
        topology,
    )
    check = next(c for c in cause.next_checks if c.command)
    assert "GPU-2; reboot" == shlex.split(check.command)[-1]


def test_an_advice_about_a_host_or_a_rank_that_nobody_knows_reads_as_a_sentence(lay_out):
    topology = lay_out(hosts=())
    advice = CauseAdvice("Drain {host}", "ssh {host} reboot")
    both = CauseAdvice("Read the log of rank {rank} on {host}", "")
    assert wording.text(advice, entities.rank(3), topology) == "Drain the host of rank 3"
    assert wording.text(both, entities.rank(3), topology) == "Read the log of rank 3 on its host"
    job = topology.job_entity
    assert wording.text(advice, job, topology) == "Drain the host"
    assert wording.text(both, job, topology) == "Read the log of the rank on its host"
    assert wording.command(advice, job, topology) == "ssh <host> reboot"


def test_a_profile_is_asked_of_the_job_by_its_name(topology):
    advice = CauseAdvice("", "rankscope profile {job} --ranks {rank}")
    assert wording.command(advice, topology.rank_entity(2), topology) == (
        f"rankscope profile {topology.job} --ranks 2"
    )
