"""A plain torch loop with nothing but the one line; prints a digest of its weights."""

import hashlib
import sys

import torch

if "--probe" in sys.argv:
    from rankscope import probe

    probe.attach()

torch.manual_seed(7)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(mode=True)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
inputs = torch.randn(20 * 16, 32)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs), batch_size=16)
for (batch,) in loader:
    optimizer.zero_grad()
    loss = (torch.dropout(model(batch), 0.1, train=True) ** 2).mean()
    loss.backward()
    optimizer.step()
digest = hashlib.sha256()
for name, tensor in model.state_dict().items():
    digest.update(name.encode() + tensor.numpy().tobytes())
for state in optimizer.state_dict()["state"].values():
    digest.update(state["exp_avg"].numpy().tobytes())
print("weights", digest.hexdigest(), torch.initial_seed(), torch.rand(1).item())  # noqa: T201
