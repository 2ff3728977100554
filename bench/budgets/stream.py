"""What agents send: a healthy job's telemetry, host by host and second by second, seeded.

One request is what an OpenTelemetry Collector in front of some hosts would push: a ResourceMetrics
for each, about 3,000 points. Values have the grain of what measures them: float32 for what comes
out of tensors, whole bytes and counts, tenths of a percent, differences of a monotonic clock.
"""

from collections.abc import Iterator

import numpy as np

from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Attributes, Sample, TelemetryResource, attributes

RANKS_A_HOST = 8
JOB = "bench"
_BOOT_SECONDS = 86_400.0 * 3
"""Uptime of a host: a difference of two such clocks keeps the grain of their size."""


class SampleStream:
    """Requests of a job's `hosts` hosts, `hosts_a_request` in each. Same seed, same values.

    `metrics`: which of the metrics, in their order.
    """

    def __init__(
        self,
        *,
        hosts: int,
        hosts_a_request: int,
        seed: int = 1,
        job: str = JOB,
        metrics: slice = slice(None),
    ) -> None:
        self._job = job
        self._metrics = metrics
        self._random = np.random.default_rng(seed)
        self._groups = [
            range(first, min(first + hosts_a_request, hosts))
            for first in range(0, hosts, hosts_a_request)
        ]
        self._ranks = hosts * RANKS_A_HOST
        self._step = 0
        self._energy = np.zeros(self._ranks)
        self._of_rank = [attributes({"rank": rank}) for rank in range(self._ranks)]
        self._of_gpu = [
            attributes({"rank": rank, "hw.id": f"GPU-{rank:08x}", "gpu": rank % RANKS_A_HOST})
            for rank in range(self._ranks)
        ]

    def round(self, at: float) -> Iterator[bytes]:
        """Yield every request of one step that ended at `at`."""
        self._step += 1
        for hosts in self._groups:
            groups = [(self._resource(host), self._samples(host, at)) for host in hosts]
            yield encode.metrics_request(groups)

    def _resource(self, host: int) -> TelemetryResource:
        return TelemetryResource(
            host=f"{self._job}-{host:04}",
            job=self._job,
            cluster="bench",
            service="rankscope-agent",
            extra=(("network.switch", f"leaf-{host // 16}"),),
        )

    def _samples(self, host: int, at: float) -> list[Sample]:
        ranks = range(host * RANKS_A_HOST, (host + 1) * RANKS_A_HOST)
        samples: list[Sample] = []
        for metric, series, values in [*self._columns(ranks)][self._metrics]:
            samples.extend(
                Sample(metric, float(value), at, pairs)
                for value, pairs in zip(values, series, strict=True)
            )
        return samples

    def _columns(self, ranks: range) -> Iterator[tuple[str, list[Attributes], np.ndarray]]:
        of_rank = [self._of_rank[rank] for rank in ranks]
        of_gpu = [self._of_gpu[rank] for rank in ranks]
        n, draw = len(ranks), self._random
        step = self._elapsed(draw.normal(0.9, 0.004, n))
        comm = self._elapsed(draw.normal(0.15, 0.01, n).clip(0.01))
        yield "training.step", of_rank, np.full(n, self._step)
        yield "training.loss", of_rank, _float32(draw.normal(2.3, 0.02, n))
        yield "training.grad_norm", of_rank, _float32(draw.normal(0.8, 0.05, n))
        yield "training.learning_rate", of_rank, np.full(n, 3e-4)
        yield "training.tokens", of_rank, np.full(n, 8192)
        yield "training.step.duration", of_rank, step
        yield "training.data.duration", of_rank, self._elapsed(draw.gamma(2, 0.001, n))
        yield "training.compute.duration", of_rank, self._elapsed(step - comm - 0.02)
        yield "training.comm.duration", of_rank, comm
        yield "training.optimizer.duration", of_rank, self._elapsed(draw.normal(0.02, 0.0003, n))
        yield "training.memory.allocated", of_rank, np.full(n, 61_203_456_000)
        yield "training.memory.reserved", of_rank, np.full(n, 68_719_476_736)
        yield "training.memory.retries", of_rank, np.zeros(n)
        yield "training.progress.age", of_rank, self._elapsed(draw.uniform(0, 0.9, n))
        for metric in ("collective.enqueued", "collective.started", "collective.completed"):
            yield metric, of_rank, np.full(n, self._step * 48)
        yield "hw.gpu.utilization", of_gpu, draw.integers(96, 101, n) / 100
        yield "hw.gpu.sm.activity", of_gpu, _float32(draw.normal(0.81, 0.01, n))
        yield "hw.gpu.tensor.activity", of_gpu, _float32(draw.normal(0.44, 0.01, n))
        yield "hw.gpu.memory.activity", of_gpu, _float32(draw.normal(0.35, 0.01, n))
        yield "hw.gpu.memory.usage", of_gpu, np.full(n, 71_940_702_208)
        yield "hw.gpu.memory.limit", of_gpu, np.full(n, 85_899_345_920)
        yield "hw.temperature", of_gpu, draw.integers(60, 66, n)
        yield "hw.power", of_gpu, draw.integers(640_000, 690_000, n) / 1000
        yield "hw.power.limit", of_gpu, np.full(n, 700)
        energy = self._energy[ranks.start : ranks.stop]
        energy += draw.integers(640_000, 690_000, n) / 1000
        yield "hw.energy", of_gpu, energy.round(3)
        yield "hw.frequency", of_gpu, draw.choice([1.965e9, 1.98e9], n)
        yield "hw.gpu.pcie.width", of_gpu, np.full(n, 16)
        yield "hw.gpu.pcie.replays", of_gpu, np.zeros(n)
        yield "process.memory.usage", of_rank, draw.integers(3_000_000, 3_000_400, n) * 4096
        yield "process.cpu.utilization", of_rank, draw.integers(900, 1100, n) / 1000
        yield "process.cpu.wait", of_rank, self._elapsed(draw.gamma(2, 0.01, n))
        host = [attributes({})]
        yield "system.cpu.utilization", host, draw.integers(300, 340, 1) / 1000
        yield "system.memory.usage", host, draw.integers(90_000_000, 90_100_000, 1) * 4096
        yield "system.memory.limit", host, np.full(1, 2_164_199_272_448)

    def _elapsed(self, seconds: np.ndarray) -> np.ndarray:
        """Return durations as two readings of a monotonic clock give them."""
        return (_BOOT_SECONDS + seconds) - _BOOT_SECONDS


def _float32(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)
