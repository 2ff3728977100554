"""What the words before a number say it is: a loss, a count of steps, a time."""

from .fields import BAR, HEAD, LineField, words

_OTHERS = frozenset({
    "val", "valid", "validation", "eval", "evaluation", "test", "dev", "best", "min", "max", "std",
    "var", "old", "prev", "previous", "last", "target", "threshold", "scale", "scaler", "scaling",
    "weight", "weights", "coef", "coeff", "coefficient", "ratio", "lambda", "factor", "alpha", "lr",
    "packet", "packets", "stop", "delta", "diff", "rate", "time", "teacher", "ema", "no", "fn",
    "early", "patience", "steps", "step", "per", "label", "smoothing", "tolerance", "expected",
    "reference", "baseline", "cut", "limit", "divisor", "interval", "norm", "metric",
})  # fmt: skip
"""Words of numbers that are no loss of a step, though they speak of one."""

_EMPTY = frozenset({"is", "function", "value"})
"""Words that say no more than the others."""

_LOSS = frozenset({"loss", "losses", "损失", "训练损失"})
_TOTAL = frozenset({"total", "tot", "sum", "overall", "all", "final", "full"})
_TRAIN = frozenset(
    {"train", "training", "batch", "global", "lm", "model", "is", "info", "minibatch"}
)
_MEAN = frozenset({
    "avg", "mean", "average", "avr", "running", "smoothed", "smooth", "current", "cur", "epoch",
    "reduced", "moving", "iter",
})  # fmt: skip
_LIKE = frozenset({
    "nll", "xent", "cost", "perplexity", "crossentropy", "logloss", "elbo", "bce",
    "mse", "objective", "ce",
})  # fmt: skip
_STEP_LOSS = ("step", "loss")

SUM, PART, LIKE = 4, 5, 6
"""Ranks of what sums up losses of parts, of these, and of what is called another name."""

_COUNTS = frozenset({
    "step", "steps", "iteration", "iterations", "iter", "iters", "it", "update", "updates", "up",
    "batch", "minibatch", "batches", "epoch", "epochs", "ep", "e", "round", "第", "timesteps", "轮",
})  # fmt: skip
_EPOCHS = frozenset({"epoch", "epochs", "ep", "e", "round", "第"})
_DATA = frozenset({
    "datatime", "data", "datat", "datas", "dataloading", "datacost", "avgreadercost", "readercost",
    "loadtime", "dataloadtime", "timedata", "dataload", "dataloadingtime", "loadertime", "datawait",
    "tdata", "batchloadtime", "fetchtime", "dataloadertime", "datawaittime", "avgdatatime",
})  # fmt: skip
_STEP_TIMES = frozenset({
    "time", "batchtime", "batcht", "batchcost", "avgbatchcost", "itertime", "steptime", "timeiter",
    "iterationtime", "timestep", "titer", "batch", "avgbatchtime", "timeperstep", "timebatch",
    "epochtime", "timeepoch", "traintime", "timeperepoch", "took", "timetaken", "epochtook", "耗时",
    "用时", "timecost", "costtime", "timesec", "timesecs", "secondsperstep", "secperstep",
})  # fmt: skip


def of_loss(label: str) -> int | None:
    """Return how well a label says that a number is the loss, 0 best; None where it does not.

    >>> [of_loss(one) for one in ("Loss", "train_loss", "loss_ctc", "val loss", "loss scale")]
    [0, 2, 5, None, None]
    >>> [of_loss(one) for one in ("Loss function", "Average Loss")]
    [0, 3]
    """
    said = words(label)
    if not said:
        return None
    if said == _STEP_LOSS:
        return 2
    if set(said) & _OTHERS:
        return None
    plain = [word for word in said if word not in _EMPTY] or [""]
    ends = {plain[0], plain[-1]}
    if not ends & _LOSS:
        like = bool({said[-1]} & _LIKE) or said[-2:] == ("cross", "entropy")
        return LIKE if like else None
    rest = set(plain) - _LOSS
    for rank, known in enumerate((frozenset[str](), _TOTAL, _TRAIN | _TOTAL, _MEAN | _TRAIN)):
        if rest <= known:
            return rank
    return PART


def of_sum(label: str) -> bool:
    """Tell whether a label is that of the sum of what stands beside it: `total: 2.5`.

    >>> [of_sum(one) for one in ("total", "Total", "total_tokens")]
    [True, True, False]
    """
    said = words(label)
    return bool(said) and set(said) <= _TOTAL


def of_count(field: LineField) -> int | None:
    """Return how well a field says how far the job is, 0 best; None where it does not."""
    if not field.count:
        return None
    if field.label == BAR:
        return 2
    if field.label == HEAD:
        return 3
    said = words(field.label)
    if not said or said[-1] not in _COUNTS:
        return None
    if said[-1] in _EPOCHS:
        return 4
    return 0 if said[0] in ("global", "total", "num") else 1


def of_epoch(label: str) -> bool:
    """Tell whether a label is that of an epoch."""
    said = words(label)
    return bool(said) and said[-1] in _EPOCHS


def of_data(label: str) -> bool:
    """Tell whether a label is that of the wait for a batch."""
    return "".join(words(label)) in _DATA


def of_step_time(label: str) -> bool:
    """Tell whether a label is that of the time of a step."""
    return "".join(words(label)) in _STEP_TIMES
