"""Alerts of others: which an incident has to do with, each said once."""

from rankscope.alerts import outside
from rankscope.alerts.outside import OutsideAlerts
from rankscope.vocabulary.samples import Event, TelemetryResource

T0 = 1_700_000_000.0


def _event(at, *, status="firing", host="gpu-1", job=None, key="f1"):
    attributes = {"name": "NodeDiskFull", "status": status, "fingerprint": key, "text": "97%"}
    return Event("alert", at, attributes, TelemetryResource(host=host, job=job))


def _take(alerts, at, *, received_at=None, **event):
    alerts.take(_event(at, **event), at if received_at is None else received_at)


def _texts(alerts, *, job="run-1", hosts=("gpu-1",), opened_at=T0):
    return [note.text for note in alerts.notes(job, hosts, opened_at)]


def test_what_fires_on_a_host_of_the_job_is_noted_since_when():
    alerts = OutsideAlerts()
    _take(alerts, T0 - 86_400, received_at=T0)
    expected = "alert NodeDiskFull on gpu-1 fires since 2023-11-13T22:13:20.000Z: 97%"
    assert [expected] == _texts(alerts)
    assert [expected] == _texts(alerts, hosts=["gpu-1.cluster.example"])
    assert [] == _texts(alerts, hosts=["gpu-2"])
    assert [] == _texts(alerts, hosts=["gpu-10"])


def test_what_fires_on_the_job_is_noted_wherever():
    alerts = OutsideAlerts()
    _take(alerts, T0, host="", job="run-1")
    assert 1 == len(_texts(alerts, hosts=()))
    assert [] == _texts(alerts, job="run-2")


def test_its_end_is_noted_and_what_ended_long_before_is_not():
    alerts = OutsideAlerts()
    _take(alerts, T0 - 2000)
    _take(alerts, T0 - 100, status="resolved")
    assert ["fires since", "ended 2023"] == [
        next(word for word in ("fires since", "ended 2023") if word in text)
        for text in _texts(alerts)
    ]
    assert [] == _texts(alerts, opened_at=T0 + outside.BEFORE_SECONDS)


def test_what_is_repeated_is_the_same_news():
    alerts = OutsideAlerts()
    for _ in range(3):
        _take(alerts, T0)
    assert 1 == len({note.key for note in alerts.notes("run-1", ["gpu-1"], T0)})


def test_what_was_not_repeated_for_a_day_is_not_noted_since_its_end_may_never_have_been_sent():
    alerts = OutsideAlerts()
    _take(alerts, T0)
    last = T0 + 8 * 3600.0
    _take(alerts, T0, received_at=last)
    assert 1 == len(_texts(alerts, opened_at=last + outside.UNREPEATED_SECONDS))
    assert [] == _texts(alerts, opened_at=last + outside.UNREPEATED_SECONDS + 1)


def test_what_fires_again_after_an_end_that_was_not_sent_fires_since_then():
    alerts = OutsideAlerts()
    _take(alerts, T0 - 86_400)
    _take(alerts, T0, received_at=T0 + 30)
    _take(alerts, T0, received_at=T0 + 3600)
    expected = "alert NodeDiskFull on gpu-1 fires since 2023-11-14T22:13:20.000Z: 97%"
    assert [expected] == _texts(alerts)


def test_an_address_is_no_name_with_a_domain():
    alerts = OutsideAlerts()
    _take(alerts, T0, host="10.0.0.7")
    assert [] == _texts(alerts, hosts=["10.0.0.8"])
    assert 1 == len(_texts(alerts, hosts=["10.0.0.7"]))


def test_there_is_an_end_to_how_many_are_held():
    alerts = OutsideAlerts()
    for number in range(outside.MOST + 10):
        _take(alerts, T0, key=f"{number}")
    assert outside.MOST == len(_texts(alerts))
