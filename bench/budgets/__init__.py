"""The budgets of the design, measured: `python -m bench.budgets --out FILE`.

A bench is one module with a function `measure(seconds) -> dict` and one line in BENCHES. Every
figure is CPU time of the process measured or a ratio to a named baseline on the same machine.
"""

BENCHES: dict[str, str] = {
    "collector": "collector",
    "collector_stages": "collector_stages",
    "collector_overload": "collector_overload",
    "windows_memory": "windows_memory",
    "probe": "probe",
    "node": "node",
    "kernel_log": "kernel_log",
    "training_logs": "training_logs",
    "causes": "causes",
    "remote_write": "remote_write",
    "polling": "polling",
    "cluster": "cluster",
}
"""Name of the bench -> name of its module in this package."""
