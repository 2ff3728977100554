"""The collector: telemetry in, incidents out, and everything that people ask of them.

`service.py` starts and stops it, and alone knows whether it is one collector or one of several. In
comes telemetry (`intake`), out go incidents (`store`) and answers (`api`). Its folders form layers,
which the contracts in pyproject.toml list from top to bottom: a folder imports lower ones only.
"""
