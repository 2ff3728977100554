"""Tables as tools write them, with the values that a test asks for."""

from dataclasses import dataclass

_RULER = (
    "+-----------------------------------------+------------------------+----------------------+"
)
_HEAD = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
_PROCESSES = """\

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
"""
STAMP = "Mon Nov 23 10:11:12 2026"
PROMPT = "me@node-7:~$ nvidia-smi"


@dataclass(frozen=True)
class ShownDevice:
    """What a row of nvidia-smi shows: share in percent, W, MiB, count, degrees."""

    util: int = 0
    power: int = 70
    memory: int = 3
    ecc: str = "0"
    temperature: int = 34
    answers: bool = True


def nvidia_smi(devices, processes=(), *, stamp=STAMP, prompt=PROMPT):
    """Return a table; processes are (index, pid, name, MiB). Device n is on bus 0x10 + n."""
    text = "".join(f"{line}\n" for line in (prompt, stamp) if line) + _HEAD
    for index, one in enumerate(devices):
        bus = f"00000000:{index + 16:02X}:00.0"
        name = f"|   {index}  NVIDIA H100 80GB HBM3          On  |   {bus} Off |"
        if one.answers:
            text += f"{name} {one.ecc:>20} |\n"
            text += f"| N/A   {one.temperature}C    P0 {one.power:>15}W /  700W |"
            text += f" {one.memory:>7}MiB /  81559MiB | {one.util:>7}%      Default |\n"
        else:
            text += f"{name}                 ERR! |\n"
            text += "|ERR!  ERR! ERR!             ERR! / ERR!  |      ERR! /  ERR!      |"
            text += "     ERR!        ERR! |\n"
        text += f"|{'':41}|{'':24}|             Disabled |\n{_RULER}\n"
    text += _PROCESSES
    for index, pid, name, memory in processes:
        text += f"|    {index}   N/A  N/A  {pid:>8}      C   {name:<40} {memory:>8}MiB |\n"
    if not processes:
        text += f"|  No running processes found{'':61}|\n"
    return f"{text}+{'-' * 89}+\n"


def sections(changed, devices=4):
    """Return `nvidia-smi -q` of busy devices, of which number 2 has other values."""
    usual = {
        "width": "16x", "slowdown": "Not Active", "heat": "Not Active", "brake": "Not Active",
        "util": "99 %", "dram": "0", "pending": "No", "failed": "No",
    }  # fmt: skip
    text = f"\n=====NVSMI LOG=====\n\nTimestamp                     : {STAMP}\n"
    text += f"Attached GPUs                 : {devices}\n"
    for index in range(devices):
        one = {**usual, **changed} if index == 2 else usual
        text += f"""\
GPU 00000000:{index + 16:02X}:00.0
    Product Name                          : NVIDIA H100
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : {one["width"]}
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : {one["slowdown"]}
            HW Thermal Slowdown           : {one["heat"]}
            HW Power Brake Slowdown       : {one["brake"]}
        SW Thermal Slowdown               : Not Active
    Utilization
        Gpu                               : {one["util"]}
    ECC Errors
        Volatile
            DRAM Correctable              : 12
            DRAM Uncorrectable            : {one["dram"]}
        Aggregate
            DRAM Uncorrectable            : 7
    Remapped Rows
        Uncorrectable Error               : 1
        Pending                           : {one["pending"]}
        Remapping Failure Occurred        : {one["failed"]}
    Temperature
        GPU Current Temp                  : 61 C
    GPU Power Readings
        Power Draw                        : 601.50 W
        Current Power Limit               : 700.00 W
    Processes
        Process ID                        : {4000 + index}
            Type                          : C
            Name                          : python
            Used GPU Memory               : 60000 MiB
"""
    return text


def links(inactive=()):
    """Return `nvidia-smi nvlink -s` of eight devices; inactive are (device, link)."""
    return "".join(
        f"GPU {device}: NVIDIA H100 (UUID: GPU-{device:08x}-0000-4000-8000-000000000001)\n"
        + "".join(
            f"\t Link {link}: {'<inactive>' if (device, link) in inactive else '26.562 GB/s'}\n"
            for link in range(18)
        )
        for device in range(8)
    )


def npu_smi(health):
    """Return `npu-smi info` of devices by their health."""
    end = f"+{'=' * 27}+{'=' * 15}+{'=' * 52}+\n"
    text = f"+{'-' * 96}+\n| npu-smi 24.1.1                   Version: 24.1.1{'':47}|\n"
    text += f"+{'-' * 27}+{'-' * 15}+{'-' * 52}+\n"
    text += (
        "| NPU   Name                | Health        | Power(W)    Temp(C)   Hugepages-Usage |\n"
    )
    text += (
        "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM(MB) |\n"
    )
    text += end
    for index, word in enumerate(health):
        text += (
            f"| {index}     910B4               | {word:<13} | 88.2        30      0    / 0  |\n"
        )
        text += (
            f"| 0                         | 0000:C{index}:00.0  | 5   0    / 0   26838/ 32768 |\n"
        )
        text += end
    return text


def ibstat(ports):
    """Return `ibstat` of cards with one port each, (state, physical state)."""
    return "".join(
        f"CA 'mlx5_{number}'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: {state}\n"
        f"\t\tPhysical state: {physical}\n\t\tRate: 400\n"
        for number, (state, physical) in enumerate(ports)
    )


def pmon(rows, *, memory=True, moments=1):
    """Return `nvidia-smi pmon -s um`; rows are (index, pid or None, type, MiB, command)."""
    text = ""
    for moment in range(moments):
        if moment == 0:
            text += "# gpu         pid   type     sm    mem" + "     fb" * memory + "    command\n"
            text += "# Idx           #    C/G      %      %" + "     MB" * memory + "    name\n"
        for index, pid, kind, held, command in rows:
            cells = [pid or "-", kind if pid else "-", "97" if pid else "-", "41" if pid else "-"]
            cells += [held if pid else "-"] * memory
            text += f"    {index}  {'  '.join(map(str, cells))}    {command if pid else '-'}\n"
    return text


def compute_apps(rows):
    """Return `--query-compute-apps` as CSV; rows are (index, pid, MiB, command)."""
    text = "gpu_bus_id, pid, used_gpu_memory [MiB], process_name\n"
    return text + "".join(
        f"00000000:{index + 16:02X}:00.0, {pid}, {held} MiB, {command}\n"
        for index, pid, held, command in rows
    )
