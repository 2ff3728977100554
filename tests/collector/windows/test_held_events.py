"""Events as detectors see them: in order, with their ranks, the same values at each look."""


def test_events_of_before_are_the_same_values_when_another_one_comes(two_by_two):
    two_by_two.event("log.fault", 30, rank=1, text="first")
    two_by_two.event("log.fault", 31, pid=102, host="host-b", text="second")
    before = two_by_two.window().events
    two_by_two.event("log.fault", 32, text="third")
    after = two_by_two.window().events
    assert [one is other for one, other in zip(before, after, strict=False)] == [True, True]
    assert [1, 2, None] == [event.attributes.get("rank") for event in after]


def test_the_rank_of_an_event_follows_the_process_that_it_names(two_by_two):
    two_by_two.event("log.fault", 30, pid=777, text="whose")
    assert [None] == [event.attributes.get("rank") for event in two_by_two.window().events]
    two_by_two.metrics(
        ("training.rank.info", 1, 31, {"rank": 1, "pid": 777, "hw.id": "GPU-1"}), host="host-a"
    )
    assert [1] == [event.attributes.get("rank") for event in two_by_two.window().events]


def test_events_of_one_time_stand_in_the_order_of_what_they_say(valid):
    for text in "cab":
        valid.event("log.fault", 30, text=text)
    valid.event("change", 30, text="z")
    texts = [event.attributes["text"] for event in valid.window().events]
    assert ["z", "a", "b", "c"] == texts
