"""Signatures that no line of a log has: what stands for something that logs do not say."""

ENDS = "log.ends_without_error"
"""Stands for the log of a rank which says nothing of an end."""

SCALE_FLOOR = "training.loss_scale_floor"
"""Stands for overflows that go on though the loss scale is one or less."""

LOSS_SKIPPED = "training.loss_skipped"
"""Stands for updates that are skipped one after the other, as each loss is not finite."""

APART = "log.collectives_apart"
"""Stands for lines of several ranks, which cannot all have called one sequence of collectives."""

AWAITED = "log.awaited"
"""Stands for lines of others that name the rank which they wait for."""

START_WAITS = "log.start_waits"
"""Stands for lines of a start whose log ends as it waits for its peers, after many such lines."""

START_REFUSED = "log.start_refused"
"""Stands for the last words of a log without a step, which say that something was refused, or
failed, in a wording that no table has.
"""

LAST_WORDS = "log.last_words"
"""Stands for errors at the end of a log, in words that no table has."""

OPEN_END = "log.open_end"
"""Stands for the last line of a log that says neither what went wrong nor that it is done."""

SLOWER = "log.takes_longer"
"""Stands for lines by whose own times some epochs or steps took far longer than others."""

DEVICE_GROWS, HOST_GROWS = "log.device_memory_grows", "log.host_memory_grows"
"""Stand for lines that say what memory is held, more and more up to the end of their log."""

SAVES_LONG = "log.saves_take_long"
"""Stands for pairs of lines between which a log shows that its job saves, for much of its time."""

DATA_WAITS = "log.data_waits"
"""Stands for lines by which steps wait for their batches now and then, for much of all time."""

COMPILES_OFTEN = "log.compiles_often"
"""Stands for a report by which a compiler runs again and again, for longer than its programs."""

DEVICES_IDLE = "log.devices_idle"
"""Stands for a profile, or a report, by which devices work for a small share of the time."""

RESUME_CLIMBS = "log.resume_climbs"
"""Stands for rows of a loss that climbs away from where the training was taken up again."""

RESUME_EXPLAINED = "log.resume_explained"
"""Stands for what explains a loss that is higher since a resume: evaluations that are alike before
and after it, or a name by which it is a mean over what came before.
"""

LOSSES_STAND = "log.losses_stand"
"""Stands for rows of several losses of which one is 0 and the others one number, up to the last."""

OF_COLUMNS = frozenset({
    DEVICE_GROWS, HOST_GROWS, SAVES_LONG, DATA_WAITS, COMPILES_OFTEN, DEVICES_IDLE, LOSSES_STAND,
    RESUME_CLIMBS,
})  # fmt: skip
"""What many lines of a log show together, and none of them alone."""

BUSY_WAITING = "devices.busy_waiting"
"""Stands for a table in which all devices of a host are busy at little power."""

MEMORY_LEFT = "devices.memory_left"
"""Stands for a table in which a device holds memory that no process listed in it has."""

STACK = "stack."
"""Begins the signatures of stacks that somebody took; behind it stands where the process stood."""
