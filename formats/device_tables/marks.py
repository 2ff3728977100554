"""Texts by which a table is found in a file: its head has one, and few other lines do."""

MARKS = (
    b"| NVIDIA-SMI ", b"| HL-SMI ", b"| MX-SMI ", b"| CNMON ", b"| npu-smi ", b"| AMD-SMI ",
    b"| Processes: ",
    b"NVSMI LOG=",
    b"utilization.gpu", b"temperature.gpu", b"pci.bus_id", b"memory.used [", b"power.draw",
    b"ecc.errors.", b"pcie.link.", b"remapped_rows.", b"_reasons.", b"utilization.aip",
    b"# gpu ", b"used_gpu_memory", b"used_memory [", b"  C/G ", b"PwrCap", b"GFX%",
    b"(UUID: GPU-",
    b"'C, ", "\u00b0C, ".encode(),
    b" Use% Mounted on", b"buff/cache", b"Physical state: ", b"hca_id:",
)  # fmt: skip
