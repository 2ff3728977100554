"""What a recording may say: names, attributes and closed sets of values of the catalogues."""

import numpy as np

from rankscope.vocabulary import events, metrics


def hold_to_it(found):
    for row in found.series:
        metric = metrics.catalogue()[row.metric]
        known = {*metric.attributes, *metric.optional, "source", "quality"}
        named = dict(row.attributes)
        assert named.keys() <= known | ({"rank"} if row.metric.startswith("hw.gpu") else set()), row
        for key, value in row.attributes:
            assert key not in metric.values or value in metric.values[key], row
        assert len(row.at) == len(row.value) > 0
        assert (np.diff(row.at) >= 0).all(), row.metric
        if metric.kind == "counter":
            assert (np.diff(row.value) >= 0).all(), row.metric
    for said in found.sayings:
        event = events.catalogue()[said.event.name]
        assert set(said.event.attributes) <= set(event.attributes), said
        for key, values in event.values.items():
            assert said.event.attributes.get(key, values[0]) in values
