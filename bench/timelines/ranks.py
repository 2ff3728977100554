"""A rank: a process with a timeline of activities, and the report at the end of each step."""

import math
from collections.abc import Generator
from random import Random

from .collectives import CollectiveGroup, CollectiveOp
from .devices import DeviceState
from .event_loop import EventProcess, WaitSignal
from .jobs import JobAttempt, StepAgenda
from .loaders import BatchLoader
from .recording import PointAttributes, PointScalar

TOKENS = 8192.0
FORWARD_SHARE = 1.0 / 3.0

PassProcess = Generator[float | WaitSignal, None, list[CollectiveOp]]


class RankProcess:
    """`extra_*` (s a step) and `leak_*` (By/s) are what faults add to one rank."""

    def __init__(self, job: JobAttempt, rank: int, device: DeviceState, pid: int) -> None:
        self.job, self.rank, self.device, self.pid = job, rank, device, pid
        self.host = job.host_of(rank)
        self.loop, self.plan = job.loop, job.plan
        self.rng = Random(job.rng.random())
        self.stage, self.replica, self.part = job.place(rank)
        self.alive = True
        self.stuck = False
        self.never_enters = False
        self.step = job.first_step
        self.started_at = self.loop.now
        self.last_end = self.loop.now
        self.stepped = False
        self.loader_pids = [pid + 1, pid + 2]
        self.loaders_since = self.loop.now
        self.extra_host = self.extra_data = self.extra_device = 0.0
        self.leak_device = self.leak_private = self.leak_loader = 0.0
        self.leak_since = math.inf
        self.slow_tokens = 1.0
        self.nan_from = math.inf
        self.fragmented = 0.0
        self.retries = 0.0
        self.memory_skew = 1.0
        seconds = self.plan.loader_share * self.plan.compute
        self.loader = BatchLoader(
            self.loop, self.host, Random(job.rng.random()), seconds, self.plan.prefetch
        )
        self.loader.sigma = self.plan.loader_sigma
        self.loader.tail_chance = self.plan.tail_an_hour * self.plan.compute / 3600.0
        self.loader.tail_seconds = self.plan.tail_seconds
        self._process = self.loop.spawn(self._run())
        self._loading = self.loop.spawn(self.loader.produce())
        self.data = self.compute = self.comm = 0.0
        self.tokens = TOKENS
        self._tokens_factor = 1.0

    def end(self, code: int, signal: int = 0) -> None:
        """End the process; at the next event, as it may be the one that runs."""
        if self.alive:
            self.alive = False
            self.host.trainers -= 1
            self.device.enter(self.loop.now, "idle")
            self.loop.call(self.loop.now, self._process.close)
            self.loop.call(self.loop.now, self._loading.close)
            attributes: dict[str, PointScalar]
            attributes = {"rank": self.rank, "pid": self.pid, "exit_code": code}
            if signal:
                attributes["signal"] = signal
            self._event("process.exit", attributes)

    def log(self, signature: str, text: str) -> None:
        """Report a line of this rank's log."""
        named: dict[str, PointScalar] = {"signature": signature, "role": "root", "text": text}
        self._event("log.fault", named | {"rank": self.rank})

    def allocated(self) -> float:
        """Return bytes that tensors hold now."""
        late = max(0.0, self.loop.now - self.leak_since)
        base = self.plan.memory_share * self.device.model.memory * 0.88 * self.memory_skew
        return min(base + self.leak_device * late, self.device.model.memory * 0.97)

    def reserved(self) -> float:
        grown = 1.0 - math.exp(-(self.loop.now - self.started_at) / 120.0)
        share = 1.04 + self.plan.reserved_growth * grown + self.fragmented
        return min(self.allocated() * share, self.device.model.memory * 0.985)

    def private(self) -> float:
        late = max(0.0, self.loop.now - self.leak_since)
        return 6.0e9 + 1e7 * (self.rank % 5) + self.leak_private * late

    def loader_private(self) -> float:
        age = self.loop.now - self.loaders_since
        cache = self.plan.worker_growth * (1.0 - math.exp(-age / 200.0))
        return 0.5e9 + cache + self.leak_loader * max(0.0, self.loop.now - self.leak_since)

    def shared(self) -> float:
        limit = 4e9 * (1.0 - math.exp(-self.plan.mapped_growth * self.loop.now / 4e9))
        return 0.3e9 + limit

    def _run(self) -> EventProcess:
        self._phase("init")
        yield self.plan.init_seconds * self.rng.uniform(0.85, 1.0)
        yield from self._held()
        self._phase("train")
        self.last_end = self.loop.now
        while not self.job.finished(self.step):
            yield from self._step()
            self.step += 1
        self._phase("shutdown")
        yield self.rng.uniform(0.2, 2.0)
        self.job.over = True
        self.end(0)

    def _step(self) -> EventProcess:
        agenda = self.job.agenda(self.step)
        pauses: dict[str, float] = {}
        yield from self._pauses(agenda, pauses)
        entered = self.loop.now
        self.compute = self.comm = 0.0
        self._tokens_factor = agenda.tokens * self._lengths() * self.slow_tokens
        self.tokens = TOKENS * self._tokens_factor
        yield from self._held()
        if self.extra_data:
            yield self.extra_data * self.rng.lognormvariate(0.0, 0.1)
        yield 0.002 * self.rng.lognormvariate(0.0, 0.4)
        yield from self.loader.take()
        self.data = self.loop.now - entered
        if agenda.collect or self._collects():
            took = self.job.switches.collect_seconds or self.plan.gc_seconds
            pauses["gc"] = took * self.rng.uniform(0.8, 1.2)
            yield pauses["gc"]
        if agenda.extra:  # compiled inside the forward pass
            self.compute += agenda.extra
            yield agenda.extra
        waiting = yield from self._passes(agenda)
        if self.never_enters:
            yield WaitSignal()
        self.device.enter(self.loop.now, "comm")
        at = self.loop.now
        for op in waiting:
            yield op.done
        self.comm += self.loop.now - at
        if self.extra_device:
            yield from self._work(self.extra_device)
        yield from self._work(self.plan.optimizer, counted=False)
        if self.step % self.plan.log_every == 0:
            yield self.plan.log_seconds * (1.5 if self.rank == 0 else 1.0)
        self._report(entered, pauses)

    def _passes(self, agenda: StepAgenda) -> PassProcess:
        plan, job = self.plan, self.job
        heavy = 1.0 + (plan.head_skew if self.stage == job.pp - 1 and job.pp > 1 else 0.0)
        heavy += plan.stage_skew * self.stage / max(1, job.pp - 1)
        heavy *= job.switches.stage_slow.get(self.stage, 1.0) * job.switches.work
        cost = plan.compute / plan.micro * heavy * self._tokens_factor**plan.token_power
        cost *= 1.0 + plan.profile_cost * agenda.profiled
        cost *= 1.0 + plan.cpu_skew * 0.1 * (self.host.cpu_speed < 1.0)
        for micro in range(plan.micro):
            yield from self._receive(micro, "forward", self.stage - 1)
            yield from self._micro(cost * FORWARD_SHARE, micro)
            self._hand_on(micro, "forward")
        waiting: list[CollectiveOp] = []
        for micro in range(plan.micro):
            yield from self._receive(micro, "backward", self.stage + 1)
            if micro + 1 < plan.micro or not job.groups["dp"]:
                yield from self._micro(cost * (1.0 - FORWARD_SHARE), micro)
            else:
                group = job.groups["dp"][self.rank]
                for _ in range(plan.buckets):
                    yield from self._work(cost * (1.0 - FORWARD_SHARE) / plan.buckets)
                    yield from self._held()
                    if not self.never_enters:
                        waiting.append(group.enter(self.rank))
            self._hand_on(micro, "backward")
        return waiting

    def _micro(self, seconds: float, micro: int) -> EventProcess:
        skew = 1.0 + self.plan.window_attention * (0.5 if micro % 2 else -0.5)
        yield from self._work(seconds * skew)
        for kind in ("tp", "ep"):
            group = self.job.groups[kind].get(self.rank)
            if group is not None:
                yield from self._collective(group)

    def _receive(self, micro: int, way: str, stage: int) -> EventProcess:
        if 0 <= stage < self.job.pp:
            at = self.loop.now
            self.device.enter(at, "comm")
            yield self.job.channel(self.step, stage, micro, self.rank, way)
            self.device.enter(self.loop.now, "idle")
            self.comm += self.loop.now - at

    def _hand_on(self, micro: int, way: str) -> None:
        if self.job.pp > 1:
            self.loop.fire(self.job.channel(self.step, self.stage, micro, self.rank, way))

    def _work(self, seconds: float, *, counted: bool = True) -> EventProcess:
        """Compute; in pieces of half a second of healthy time, as clocks change meanwhile."""
        began = self.loop.now
        yield from self._held()
        self.device.enter(self.loop.now, "compute")
        launch = 0.88 + 0.12 * self.host.contention() ** 1.5
        left = seconds * launch * self.rng.lognormvariate(0.0, self.plan.noise) + self.extra_host
        if self.rank == 0:
            left *= 1.0 + self.plan.rank0_share
        if self.rng.random() < self.plan.hiccups_an_hour * seconds / 3600.0:
            left += self.plan.hiccup_seconds * self.rng.random()
        while left > 0.0:
            piece = min(left, 0.5)
            yield piece / self.device.speed()
            yield from self._held()
            left -= piece
        self.device.enter(self.loop.now, "idle")
        if counted:
            self.compute += self.loop.now - began

    def _collective(self, group: CollectiveGroup) -> EventProcess:
        yield from self._held()
        at = self.loop.now
        self.device.enter(at, "comm")
        yield group.enter(self.rank).done
        self.device.enter(self.loop.now, "idle")
        self.comm += self.loop.now - at

    def _held(self) -> EventProcess:
        """Wait while suspended, for ever where stuck."""
        if not self.job.resumed.fired:
            doing = self.device.doing
            self.device.enter(self.loop.now, "idle")
            yield self.job.resumed
            self.device.enter(self.loop.now, doing)
        if self.stuck:
            yield WaitSignal()

    def _pauses(self, agenda: StepAgenda, pauses: dict[str, float]) -> EventProcess:
        plan = self.plan
        if agenda.save:
            self._phase("checkpoint")
            at = self.loop.now
            slow = 1.0 if plan.save_async else self.host.storage_slow
            yield (
                plan.save_seconds * slow * self.job.switches.save_slow * self.rng.uniform(0.9, 1.1)
            )
            self.host.disk_queue += 0.2 * plan.save_seconds / plan.per_host
            pauses["checkpoint"] = self.loop.now - at
            self.job.last_saved = self.step
            self._phase("train")
        if agenda.evaluate and (self.rank == 0 or not plan.eval_rank0):
            self._phase("eval")
            yield from self._work(plan.eval_seconds * self.rng.uniform(0.9, 1.1), counted=False)
            self._phase("train")
        if agenda.rollout:
            for _ in range(8):
                self.device.enter(self.loop.now, "compute")
                yield 0.6 * plan.rollout_seconds / 8 * self.rng.uniform(0.8, 1.2)
                self.device.enter(self.loop.now, "idle")
                yield 0.4 * plan.rollout_seconds / 8
        if agenda.epoch:
            self.loader.empty()
            if plan.respawn:
                self.loader_pids = [pid + 10_000 for pid in self.loader_pids]
                self.loaders_since = self.loop.now
            yield plan.epoch_pause * self.rng.uniform(0.9, 1.1)

    def _collects(self) -> bool:
        every = self.job.switches.collect_every
        return bool(every) and self.rng.random() < 1.0 / every

    def _lengths(self) -> float:
        sigma = max(self.plan.token_sigma, self.job.switches.token_sigma)
        skew = 1.0
        if self.job.ep > 1:
            skew += self.plan.moe_skew * self.rng.uniform(-1.0, 1.0)
        return skew * self.rng.lognormvariate(0.0, sigma) if sigma else skew

    def _report(self, entered: float, pauses: dict[str, float]) -> None:
        job, reporter, now = self.job, self.job.reporter, self.loop.now
        self.stepped = True
        began = self.last_end if reporter.pauses_in_step else entered
        duration, self.last_end = now - began, now
        if reporter.training == "log" and (self.rank or self.step % self.plan.log_every):
            return
        put = self._put
        put("training.step", self.step)
        put("training.step.duration", duration)
        self._report_values(reporter.values)
        put("training.tokens", round(self.tokens))
        if reporter.training == "log":
            return
        put("training.memory.allocated", self.allocated())
        put("training.memory.reserved", self.reserved())
        named: PointAttributes = (("rank", self.rank),)
        retries = "training.memory.retries"
        job.recorder.counter(self.host.name, job.attempt, retries, named, now, self.retries)
        if reporter.phases:
            put("training.data.duration", self.data)
            put("training.compute.duration", self.compute, ("quality", reporter.quality))
            put("training.comm.duration", self.comm, ("quality", reporter.quality))
            put("training.optimizer.duration", self.plan.optimizer / self.device.speed())
            for name, took in pauses.items():
                put(f"training.{name}.duration", took)

    def _put(self, metric: str, value: float, *more: tuple[str, PointScalar]) -> None:
        job = self.job
        source = (("source", "log"),) if job.reporter.training == "log" else ()
        named: PointAttributes = (("rank", self.rank), *more, *source)
        job.recorder.gauge(self.host.name, job.attempt, metric, named, self.loop.now, value)

    def _report_values(self, scope: str) -> None:
        curve, job = self.job.curve, self.job
        whose = self.rank if scope == "local" else -1
        loss, norm = curve.loss(self.step, whose), curve.grad_norm(self.step, whose)
        every = self.plan.overflow_every
        over = bool(every) and self.step % every == every - 1
        over = bool(curve.scale) and (over or self.step >= job.switches.overflow_from)
        if over:
            norm = math.inf
        if self.step >= self.nan_from:
            loss = norm = math.nan
        if self.stage == job.pp - 1:
            self._put("training.loss", loss, ("scope", scope))
        self._put("training.grad_norm", norm, ("scope", scope))
        self._put("training.learning_rate", curve.learning_rate(self.step))
        if math.isnan(norm):
            self._put("training.nonfinite", 1000.0, ("of", "grad_local"))
            numeric: dict[str, PointScalar] = {"rank": self.rank, "step": self.step}
            self._event("training.numeric", numeric | {"what": "grad_norm", "value": norm})
        if curve.scale:
            halved = curve.scale / 2.0 if every and self.step % every < every / 2 else curve.scale
            late = max(0.0, self.step - job.switches.overflow_from)
            self._put("training.loss_scale", max(1.0, halved / 2.0 ** min(40.0, late)))

    def _phase(self, phase: str) -> None:
        if self.job.reporter.phase_events:
            named: dict[str, PointScalar] = {"rank": self.rank, "phase": phase, "step": self.step}
            self._event("training.phase", named)

    def _event(self, name: str, attributes: dict[str, PointScalar]) -> None:
        self.job.recorder.event(self.host.name, self.job.attempt, name, attributes, self.loop.now)
