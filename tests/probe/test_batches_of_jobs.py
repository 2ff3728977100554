"""Batches of real jobs of two ranks: a NaN has its step sent, equal replicas weigh alike."""


def test_the_batch_of_a_nan_is_sent_with_the_ids_of_its_samples_and_replicas_weigh_the_same(
    job, listener
):
    """Rank 1 has a NaN in its sixth batch of sixteen."""
    job.run("replicas.py", "--probe", ranks=2, BROKEN="1", lingers=True)
    (broken,) = listener.events("training.batch", rank=1, step=5)
    said = broken.attributes
    assert ("nonfinite", "80-95", 16) == (said["reason"], said["ids"], said["samples"])
    first = {
        event.attributes["rank"]: event.attributes
        for event in listener.events("training.batch", step=1, reason="landmark")
    }
    assert {0, 1} == set(first)
    assert first[0]["weights"] == first[1]["weights"]
    assert first[0]["replicas"] == first[1]["replicas"]
    assert first[0]["hash"] != first[1]["hash"]
