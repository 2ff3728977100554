from rankscope.agent.exporters.targets import SeriesOwnership


def test_the_first_target_speaks_for_a_device_as_long_as_it_does():
    ownership = SeriesOwnership(lasting=15.0)
    assert ownership.claim("GPU-1", 1, 0.0)
    assert ownership.claim("GPU-1", 0, 1.0)
    assert not ownership.claim("GPU-1", 1, 2.0)
    assert ownership.claim("GPU-1", 0, 5.0)
    assert not ownership.claim("GPU-1", 1, 20.0)
    assert ownership.claim("GPU-1", 1, 20.1)
    assert ownership.claim("GPU-2", 1, 2.0)
