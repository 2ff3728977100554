"""Lines of every framework with values of their own in each, as a job would write them."""

# ruff: noqa: E501  lines are as long as they are printed

NAMES = (
    "megatron", "deepspeed", "torchtitan", "huggingface", "lightning", "accelerate", "nanogpt",
    "build-nanogpt", "llm.c", "nemo",
)  # fmt: skip

FAULTS = (
    "RuntimeError: CUDA error: device-side assert triggered",
    "OSError: [Errno 28] No space left on device: '/ckpt/x'",
    "NCCL WARN NET/IB: Got completion from peer 10.1.2.3<4321> with status=12 hca mlx5_3",
    "iter 7: loss 2.3456, time 123.45ms",
)


def lines(name: str) -> list[str]:
    """Return lines of three steps."""
    return [line for step in (101, 112, 123) for line in _of(name, step)]


def _of(name: str, step: int) -> list[str]:
    loss, norm, rate, took = step * 1.0137, step / 97, step * 1e-6, step * 3.37
    match name:
        case "megatron":
            return [
                (
                    f" [2026-08-22 15:22:{step % 60:02}.123456] iteration {step:8d}/  500000 | consumed "
                    f"samples: {step * 8:12d} | elapsed time per iteration (ms): {took:.1f} | learning "
                    f"rate: {rate:.6E} | global batch size: {1024:5d} | lm loss: {loss:.6E} | loss "
                    f"scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations: {0:3d} | "
                    f"number of nan iterations: {0:3d} |"
                )
            ]
        case "deepspeed":
            return [
                (
                    f"[2026-08-22 12:00:{step % 60:02},000] [INFO] [logging.py:96:log_dist] [Rank 0] "
                    f"step={step}, skipped=0, lr=[{rate}], mom=[(0.9, 0.999)]"
                )
            ]
        case "torchtitan":
            return [
                (
                    f"\x1b[32m[titan] 2026-08-21 21:30:{step % 60:02},123 - root - INFO - \x1b[31mstep: "
                    f"{step:2}  \x1b[32mloss: {loss:8.5f}  \x1b[33mgrad_norm: {norm:7.4f}  \x1b[34m"
                    f"memory: {step / 10:.2f}GiB({step / 10:.2f}%)  \x1b[36mtps: {step * 57:,}  "
                    f"\x1b[35mtflops: {step * 1.5:,.2f}  mfu: {step / 7:.2f}%\x1b[39m"
                )
            ]
        case "huggingface":
            return [
                str(
                    {"loss": round(loss, 4), "grad_norm": norm, "learning_rate": rate, "epoch": 1.5}
                )
            ]
        case "lightning":
            bar = f"Epoch 0:  10%|#         | {step}/1000 [00:01<00:09, {took:5.2f}it/s, v_num=0, "
            return [f"{bar}train_loss={loss - 5:.3f}]", f"{bar}train_loss={loss:.3f}]"]
        case "accelerate":
            return [
                (
                    f"08/22/2026 12:00:{step % 60:02} - INFO - __main__ - epoch: 1, step: {step}, "
                    f"loss: {loss:.4f}, lr: {rate}"
                )
            ]
        case "nanogpt":
            return [f"iter {step}: loss {loss:.4f}, time {took:.2f}ms, mfu {step / 7:.2f}%"]
        case "build-nanogpt":
            return [
                (
                    f"step {step:5d} | loss: {loss:.6f} | lr {rate:.4e} | norm: {norm:.4f} | dt: "
                    f"{took:.2f}ms | tok/sec: {step * 5.5:.2f}"
                )
            ]
        case "llm.c":
            return [
                (
                    f"step {step:4d}/19560 | loss {loss:.6f} (+1.23z)| norm {norm:.4f} (-0.5z)| lr "
                    f"{rate:.2e} | {took:.2f} ms | 45.1% bf16 MFU | {step * 99} tok/s"
                )
            ]
        case _:
            return [
                (
                    f"Training epoch 0, iteration {step}/999 | lr: {rate} | global_batch_size: 32 | "
                    f"global_step: {step} | reduced_train_loss: {loss:.3f} | train_step_timing in s: "
                    f"{took:.3f} | consumed_samples: {step * 32}"
                )
            ]
