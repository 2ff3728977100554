"""A page in dcgm-exporter's place, and what it is fed with."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.attribution.joining import NodeFacts
from rankscope.agent.attribution.pod_resources import AllocatedDevice
from rankscope.agent.dcgm_names import DcgmPage
from rankscope.vocabulary.samples import Sample, Scalar, TelemetryResource, attributes

NODE = TelemetryResource(host="n1")
GPU_0: dict[str, Scalar] = {"hw.id": "GPU-0", "gpu": 0, "hw.vendor": "nvidia"}


class Page:
    """The page and what it is fed with."""

    def __init__(self, names="old", **more):
        self.attribution = DeviceAttribution()
        self.dcgm_page = DcgmPage(names=names, host="n1", attribution=self.attribution, **more)
        self.samples: list[Sample] = []
        self.now = 1.0

    def see(self, *samples):
        self.samples = list(samples)
        self.now = max((sample.at for sample in samples), default=self.now)
        self.dcgm_page.observe(samples)
        self.attribution.observe(samples)

    def give(self, *given, names=None, belongs=None, processes=()):
        facts = self.attribution.facts([], self.now)
        facts = NodeFacts(facts.devices, processes)
        self.attribution.update(
            facts,
            given=[
                AllocatedDevice("ml", pod, "train", "nvidia.com/gpu", device)
                for pod, device in given
            ],
            memberships=belongs or {},
            names=names or {},
            jobs={},
        )

    def text(self, room=10_000):
        series = [(NODE, one.metric, one.attributes, one.value) for one in self.samples]
        return self.dcgm_page.render(series, self.now, room=room)[0]

    def values(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        seen: set[Any] = set()
        for line in self.text().splitlines():
            if line.startswith("#"):
                continue
            (family,) = text_string_to_metric_families(f"{line}\n")
            (sample,) = family.samples
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in seen, f"{line} stands on the page twice"
            seen.add(key)
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
        return found


def fault(code, count, at, *, last=None):
    yield Sample("hw.gpu.faults", count, at, attributes({**GPU_0, "code": code}))
    if last is not None:
        yield Sample("hw.gpu.fault.last", last, at, attributes(GPU_0))
