"""Node conditions and events follow the first causes, through errors and restarts."""

from threading import Event

import pytest

from rankscope.collector.kubernetes.server import KubernetesApi
from rankscope.collector.kubernetes.writer import ConditionWriter

T0 = 1_700_000_000.0


def test_the_node_of_a_stable_cause_is_marked_and_cleared_when_it_is_over(api, new_writer, happens):
    writer = new_writer()
    happens()
    assert writer.step()
    assert ("True", "HostCpuContention") == api.status("gpu-1")
    row = api.nodes["gpu-1"]["RankscopeDegraded"]
    assert row["message"].endswith("rank 3 is slow")
    assert {"Ready", "RankscopeDegraded"} == set(api.nodes["gpu-1"])
    assert {"Ready"} == set(api.nodes["gpu-2"])
    happens("resolved", updated_at=T0 + 90)
    assert writer.step()
    assert ("False", "NoKnownCause") == api.status("gpu-1")
    kinds = [(row["type"], row["reason"]) for row in api.events.values()]
    assert [("Warning", "RankscopeDegraded"), ("Normal", "RankscopeDegradedCleared")] == kinds


def test_a_provisional_cause_and_a_fault_of_no_machine_mark_nothing(api, new_writer, happens):
    writer = new_writer()
    happens(cause="provisional")
    happens(identity="b2", fault="software.dataloader_slow")
    writer.step()
    assert [] == api.requests


def test_another_first_cause_moves_the_mark(api, new_writer, happens):
    writer = new_writer()
    happens()
    writer.step()
    happens("updated", updated_at=T0 + 40, host="gpu-2")
    writer.step()
    assert ("False", "True") == (api.status("gpu-1")[0], api.status("gpu-2")[0])


def test_a_node_stays_marked_while_another_incident_names_it(api, new_writer, happens):
    writer = new_writer()
    happens()
    happens(identity="b2", fault="host.disk_full", updated_at=T0 + 20)
    happens("resolved", updated_at=T0 + 90)
    writer.step()
    assert ("True", "HostDiskFull") == api.status("gpu-1")


def test_an_update_that_says_nothing_new_is_not_written_again(api, new_writer, happens):
    writer = new_writer()
    happens()
    writer.step()
    count = len(api.requests)
    happens("updated", updated_at=T0 + 40, lost=900.0)
    writer.step()
    assert count == len(api.requests)


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_what_the_server_cannot_take_now_is_written_later(api, new_writer, happens, status):
    writer = new_writer()
    happens()
    api.refuses = [status]
    assert not writer.step()
    assert {"Ready"} == set(api.nodes["gpu-1"])
    assert writer.step()
    assert "True" == api.status("gpu-1")[0]


def test_a_refusal_is_reported_and_holds_nothing_up(api, new_writer, happens):
    writer = new_writer()
    happens()
    happens(identity="b2", host="gpu-2", updated_at=T0 + 9)
    api.refuses = [403]
    assert writer.step()
    assert "cannot patch" in writer._api.error
    assert "True" == api.status("gpu-2")[0]


def test_a_host_that_is_no_node_is_passed_over(api, new_writer, happens):
    writer = new_writer()
    happens(host="bare-metal-7")
    assert writer.step()
    assert "not found" in writer._api.error
    assert {} == api.events


def test_a_rotated_token_is_read_again(api, new_writer, happens, tmp_path):
    writer = new_writer()
    happens()
    api.token = "token-2"
    assert not writer.step()
    (tmp_path / "token").write_text("token-2")
    assert writer.step()
    assert "True" == api.status("gpu-1")[0]


def test_while_the_server_is_away_only_the_newest_mark_of_a_node_waits(api, new_writer, happens):
    writer = new_writer()
    api.refuses = [503]
    happens()
    assert not writer.step()
    happens("resolved", updated_at=T0 + 90)
    assert writer.step()
    assert "False" == api.status("gpu-1")[0]
    assert 1 == len(api.events)


def test_a_restart_writes_the_same_again_and_clears_what_ended_meanwhile(
    api, new_writer, happens, clock
):
    first = new_writer()
    happens()
    happens(identity="b2", host="gpu-2", updated_at=T0 + 9)
    first.step()
    first.stop()
    happens("resolved", updated_at=T0 + 90)
    clock.at = T0 + 120
    events = set(api.events)
    new_writer().step()
    assert ("False", "True") == (api.status("gpu-1")[0], api.status("gpu-2")[0])
    assert 1 == len(set(api.events) - events)


def test_its_thread_writes_what_the_store_announces(
    api, new_writer, happens, settings, store, clock
):
    written = Event()

    class Announcing(KubernetesApi):
        def create_event(self, body):
            outcome = super().create_event(body)
            written.set()
            return outcome

    writer = ConditionWriter(settings=settings, api=Announcing(settings), store=store, clock=clock)
    writer.start()
    happens()
    assert written.wait(60)
    writer.stop()
    assert "True" == api.status("gpu-1")[0]
