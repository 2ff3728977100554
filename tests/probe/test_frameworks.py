"""The framework callbacks with the real libraries, as the tutorial shows them, and without them."""

import copy
import pickle
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from rankscope.probe import accelerate, callbacks, huggingface, lightning

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
OFFLINE = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}


def example(title: str) -> str:
    """Return the Python that the tutorial shows under a heading."""
    _before, _heading, part = TUTORIAL.read_text(encoding="utf-8").partition(f"### {title}\n")
    code = re.search(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    assert code, title
    return code[1]


@pytest.fixture
def run(environ, listener, tmp_path):
    """Return a function that runs Python in a process of its own and a folder of its own."""

    def start(code: str) -> str:
        (tmp_path / "job.py").write_text(code)
        done = subprocess.run(
            [sys.executable, "job.py"],
            cwd=tmp_path,
            env={**environ, **listener.environ, **OFFLINE, "HF_HOME": str(tmp_path / "hf")},
            capture_output=True,
            text=True,
            check=False,
        )
        listener.wait()
        assert 0 == done.returncode, done.stderr
        return done.stdout

    return start


def phases(listener) -> list[object]:
    """Return the phases in order; how many steps came before each is the library's own affair."""
    return [event.attributes["phase"] for event in listener.events("training.phase")]


def test_the_hugging_face_trainer_of_the_tutorial_is_followed(run, listener):
    run(example("Hugging Face Trainer"))
    assert [*range(8)] == listener.values("training.step"), "one step a update of two micro-batches"
    assert 8 == len(listener.values("training.optimizer.duration"))
    assert 8 == len(listener.values("training.data.duration")), "not those of the evaluation"
    evaluated = ["eval", "train", "checkpoint", "train"]
    assert ["init", "train", *evaluated, *evaluated, "shutdown"] == phases(listener)
    assert [4, 8] == [
        event.attributes["step"] for event in listener.events("training.phase", phase="eval")
    ]
    # The Trainer's own mean over steps 7 and 8 is about ln 64, as is each of ours.
    assert all(3 < loss < 5 for loss in listener.values("training.loss", scope="local"))
    assert 8 == len(listener.values("training.grad_norm", scope="local")), "it clips by them"
    assert 1 == len(listener.values("training.checkpoint.duration")), "the last has no step after"
    assert listener.samples("training.rank.info", framework="transformers")


def test_the_lightning_trainer_of_the_tutorial_is_followed(run, listener):
    run(example("Lightning"))
    assert [*range(8)] == listener.values("training.step"), "four batches an update, 16 an epoch"
    evaluated = ["eval", "train", "checkpoint", "train"]
    assert ["init", "train", *evaluated, *evaluated, "shutdown"] == phases(listener)
    assert [4, 8] == [
        event.attributes["step"] for event in listener.events("training.phase", phase="eval")
    ]
    assert 8 == len(listener.values("training.loss", scope="local"))
    assert 8 == len(listener.values("training.data.duration")), "not those of the validation"
    assert 8 == len(listener.values("training.optimizer.duration"))
    assert listener.samples("training.rank.info", framework="lightning")


def test_the_accelerate_loop_of_the_tutorial_is_followed(run, listener):
    run(example("Accelerate"))
    assert [*range(8)] == listener.values("training.step"), "one step an update of two batches"
    assert 8 == len(listener.values("training.loss"))
    assert ["init", "train", "eval", "train", "checkpoint", "train", "shutdown"] == phases(listener)
    assert {"my-run"} == {each.job for each in listener.received}
    assert listener.samples("training.rank.info", framework="accelerate")


UNEVEN = """
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(4, 1)
torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
rows = TensorDataset(torch.ones(20, 4))  # five batches: the second update of an epoch is of one
"""

UNEVEN_LIGHTNING = """
from lightning.pytorch import LightningModule, Trainer
from rankscope.probe.lightning import RankscopeCallback

class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.model = model
    def training_step(self, batch, index):
        return self.model(batch[0]).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)

Trainer(
    accelerator="cpu", max_epochs=2, accumulate_grad_batches=4, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    callbacks=[RankscopeCallback(job="lightning")],
).fit(Module(), DataLoader(rows, batch_size=4))
"""

UNEVEN_ACCELERATE = """
from accelerate import Accelerator
from rankscope.probe.accelerate import RankscopeTracker

tracker = RankscopeTracker("accelerate")
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4, log_with=[tracker])
accelerator.init_trackers("accelerate")
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.0), DataLoader(rows, batch_size=4)
)
for _ in range(2):
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch[0]).mean())
            optimizer.step()
            optimizer.zero_grad()
accelerator.end_training()
"""


def test_the_loss_of_an_epochs_last_update_is_no_part_of_itself(run, listener):
    """Lightning 2.6 and Accelerate 1.15 divide it by four micro-batches where it has but one.

    One process trains with both, one after the other: importing torch is what takes long.
    """
    run(UNEVEN + UNEVEN_LIGHTNING + UNEVEN_ACCELERATE)
    losses = {
        job: [
            sample.value
            for each in listener.received
            for sample in each.samples
            if (each.job, sample.metric) == (job, "training.loss")
        ]
        for job in ("lightning", "accelerate")
    }
    assert {"lightning": [4.0] * 4, "accelerate": [4.0] * 4} == losses
    assert 2 * [0, 1, 2, 3] == listener.values("training.step")


def test_a_loss_that_accelerate_leaves_to_deepspeed_is_not_multiplied(monkeypatch):
    module = types.SimpleNamespace(
        AcceleratorState=lambda: types.SimpleNamespace(distributed_type="DEEPSPEED"),
        GradientState=lambda: types.SimpleNamespace(num_steps=4),
    )
    monkeypatch.setitem(sys.modules, "accelerate.state", module)
    assert 1 == accelerate._micro_batches()


@pytest.mark.long
def test_each_class_is_the_librarys_own_in_whatever_order_they_are_imported(run):
    """Also after both Lightnings, whose callbacks are different classes."""
    printed = run("""
import pickle
from rankscope.probe.huggingface import RankscopeCallback as HuggingFace
from rankscope.probe.lightning import RankscopeCallback as Lightning
import lightning.pytorch
import transformers
import accelerate.tracking
from rankscope.probe.accelerate import RankscopeTracker as Tracker
import pytorch_lightning
print(issubclass(HuggingFace, transformers.TrainerCallback))
print(issubclass(Lightning, lightning.pytorch.Callback))
print(issubclass(Tracker, accelerate.tracking.GeneralTracker))
print(type(pickle.loads(pickle.dumps(Lightning(job='x')))) is Lightning)
import rankscope.probe.lightning
del rankscope.probe.lightning.RankscopeCallback
from rankscope.probe.lightning import RankscopeCallback as Both
print(issubclass(Both, (lightning.pytorch.Callback, pytorch_lightning.Callback)))
print(issubclass(Both, pytorch_lightning.Callback))
""")
    assert ["True"] * 6 == printed.split()


CLASSES: list[tuple[Any, str, str]] = [
    (huggingface, "RankscopeCallback", "transformers"),
    (lightning, "RankscopeCallback", "lightning"),
    (accelerate, "RankscopeTracker", "accelerate"),
]


def hide(monkeypatch, library: str, module: Any) -> None:
    """Put a module, or None for no module, in the place of a library and of its parts."""
    names = {"lightning": ("lightning", "lightning.pytorch", "pytorch_lightning")}
    for name in names.get(library, (library, f"{library}.tracking")):
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def unmade(monkeypatch):
    """Forget the classes that other tests made."""
    for module, name, _library in CLASSES:
        monkeypatch.delitem(vars(module), name, raising=False)


SHADOWS = {
    "no module": None,
    "an empty module": types.ModuleType("shadow"),
    "a module whose names are strings": types.SimpleNamespace(
        TrainerCallback="x", Callback="x", GeneralTracker="x"
    ),
}


@pytest.mark.parametrize("shadow", SHADOWS.values(), ids=SHADOWS)
@pytest.mark.parametrize(("module", "name", "library"), CLASSES, ids=lambda value: str(value)[-20:])
def test_without_its_library_a_callback_says_so_and_takes_every_call(
    unmade, monkeypatch, capsys, environ, listener, module, name, library, shadow
):
    hide(monkeypatch, library, shadow)
    made = getattr(module, name)
    assert not capsys.readouterr().err, "importing it is nobody's mistake"
    callback = made(environ=listener.environ)
    printed = capsys.readouterr().err
    assert f"rankscope: {name} without its library: {library}" in printed
    for hook in ("on_train_begin", "on_step_begin", "on_step_end", "on_save", "on_new_in_2030"):
        if name == "RankscopeCallback":
            getattr(callback, hook)(None, None, None)
    if name == "RankscopeTracker":
        callback.log({"loss": 1.0})
        callback.finish()
    else:
        callback.on_train_end(None, None) if library == "lightning" else callback.on_train_end(
            None, None, None
        )


def test_a_name_that_a_module_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Callbck"):
        _ = huggingface.RankscopeCallbck


def test_a_base_class_that_cannot_be_derived_from_is_done_without(monkeypatch):
    class Meta(type):
        def __new__(cls, name, bases, names):
            if name == "Ours":
                raise TypeError
            return super().__new__(cls, name, bases, names)

    library = types.SimpleNamespace(Base=Meta("Base", (), {}))
    monkeypatch.setitem(sys.modules, "closed", library)
    made = callbacks.derive("Ours", callbacks.CallbackHooks, [("closed", "Base")])
    assert issubclass(made, callbacks.UnavailableCallback)


class Failing:
    """A watch that raises whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError(name)


HOOKS = [
    (huggingface._TrainerHooks, name)
    for name in (
        "on_train_begin",
        "on_step_begin",
        "on_step_end",
        "on_epoch_end",
        "on_prediction_step",
        "on_evaluate",
        "on_predict",
        "on_save",
        "on_log",
        "on_train_end",
    )
] + [
    (lightning._LightningHooks, name)
    for name in (
        "on_train_start",
        "on_train_batch_start",
        "on_train_epoch_start",
        "on_validation_start",
        "on_validation_end",
        "on_save_checkpoint",
        "on_train_end",
    )
]


@pytest.mark.parametrize(("hooks", "hook"), HOOKS, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("given", [(), (Failing(),) * 3], ids=["nothing", "things that raise"])
def test_no_hook_raises_whatever_it_is_handed(listener, hooks, hook, given):
    callback = hooks(environ={"RANKSCOPE_PROBE": "0"})
    callback._watch = callback._saving = Failing()
    getattr(callback, hook)(*given)


def test_a_callback_is_copied_and_pickled_without_its_watch(listener):
    callback = huggingface._TrainerHooks(job="j", environ=listener.environ)
    callback.on_train_begin(None, None, None)
    assert callback._watch is not None
    copied = copy.deepcopy(callback)
    assert copied._watch is None
    assert "j" == copied._attaching["job"]
    callback.on_train_end(None, None, None)
    assert pickle.loads(pickle.dumps(lightning._LightningHooks(job="x")))._attaching == {"job": "x"}  # noqa: S301


def update(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def test_a_resumed_lightning_run_goes_on_with_the_trainers_number(listener):
    """Driven by a stand-in: the library calls these two and says how many updates it has made."""
    model = torch.nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2)]
    callback = lightning._LightningHooks(job="pl", environ=listener.environ)
    callback.on_train_start(types.SimpleNamespace(optimizers=optimizers, global_step=12), model)
    update(model, optimizers[0])
    update(model, optimizers[0])
    callback.on_train_end(None, None)
    listener.wait()
    assert [6, 7] == listener.values("training.step"), "two optimizers, six steps before"
