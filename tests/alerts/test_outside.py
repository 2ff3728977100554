"""Alerts of others: which an incident has to do with, each said once."""

from rankscope.alerts import outside
from rankscope.alerts.outside import OutsideAlerts
from rankscope.vocabulary.samples import Event, TelemetryResource

T0 = 1_700_000_000.0


def _event(at, *, status="firing", host="gpu-1", job=None, key="f1"):
    attributes = {"name": "NodeDiskFull", "status": status, "fingerprint": key, "text": "97%"}
    return Event("alert", at, attributes, TelemetryResource(host=host, job=job))


def _texts(alerts, *, job="run-1", hosts=("gpu-1",), opened_at=T0):
    return [note.text for note in alerts.notes(job, hosts, opened_at)]


def test_what_fires_on_a_host_of_the_job_is_noted_since_when():
    alerts = OutsideAlerts()
    alerts.take(_event(T0 - 86_400))
    expected = "alert NodeDiskFull on gpu-1 fires since 2023-11-13T22:13:20.000Z: 97%"
    assert [expected] == _texts(alerts)
    assert [expected] == _texts(alerts, hosts=["gpu-1.cluster.example"])
    assert [] == _texts(alerts, hosts=["gpu-2"])
    assert [] == _texts(alerts, hosts=["gpu-10"])


def test_what_fires_on_the_job_is_noted_wherever():
    alerts = OutsideAlerts()
    alerts.take(_event(T0, host="", job="run-1"))
    assert 1 == len(_texts(alerts, hosts=()))
    assert [] == _texts(alerts, job="run-2")


def test_its_end_is_noted_and_what_ended_long_before_is_not():
    alerts = OutsideAlerts()
    alerts.take(_event(T0 - 2000))
    alerts.take(_event(T0 - 100, status="resolved"))
    assert ["fires since", "ended 2023"] == [
        next(word for word in ("fires since", "ended 2023") if word in text)
        for text in _texts(alerts)
    ]
    assert [] == _texts(alerts, opened_at=T0 + outside.BEFORE_SECONDS)


def test_what_is_repeated_is_the_same_news():
    alerts = OutsideAlerts()
    for _ in range(3):
        alerts.take(_event(T0))
    assert 1 == len({note.key for note in alerts.notes("run-1", ["gpu-1"], T0)})


def test_an_address_is_no_name_with_a_domain():
    alerts = OutsideAlerts()
    alerts.take(_event(T0, host="10.0.0.7"))
    assert [] == _texts(alerts, hosts=["10.0.0.8"])
    assert 1 == len(_texts(alerts, hosts=["10.0.0.7"]))


def test_there_is_an_end_to_how_many_are_held():
    alerts = OutsideAlerts()
    for number in range(outside.MOST + 10):
        alerts.take(_event(T0, key=f"{number}"))
    assert outside.MOST == len(_texts(alerts))
