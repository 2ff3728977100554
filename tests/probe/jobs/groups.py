"""Three groups over two ranks, one of them of a single rank; then some heartbeats."""

import torch
import torch.distributed as dist
from ending import end, linger

from rankscope import probe

probe.attach(job="g")
dist.init_process_group("gloo")
rank = dist.get_rank()
both = dist.new_group([0, 1], group_desc="TENSOR_MODEL_PARALLEL_GROUP")
alone = dist.new_group([1], group_desc="PIPELINE_MODEL_PARALLEL_GROUP")
again = dist.new_group([0, 1], group_desc="TENSOR_MODEL_PARALLEL_GROUP")
for count, group in ((3, both), (2, again), (1, None)):
    for _ in range(count):
        dist.all_reduce(torch.ones(4), group=group)
if rank == 1:
    dist.all_reduce(torch.ones(4), group=alone)
linger()
end()
