"""An import-linter contract: packages that may import the standard library and nothing foreign.

import-linter's own `forbidden` contract needs the names of what is forbidden; the probe, in other
people's processes, must not import any third-party package, whatever its name.
"""

import sys
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class StandardLibraryOnly(Contract):
    """Direct imports of `packages` stay inside `ours` and the standard library.

    `except_in` names modules that exist to meet one foreign library, as "module -> library".
    """

    type_name = "standard_library_only"

    # Descriptions of options; import-linter replaces them with their values.
    packages: Any = fields.ListField(subfield=fields.StringField())
    ours: Any = fields.StringField()
    except_in: Any = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001  import-linter's signature
        """Collect every import of something else."""
        allowed = {tuple(line.split(" -> ")) for line in self.except_in or ()}
        foreign = []
        for importer in sorted(graph.modules):
            if not self._inside(importer):
                continue
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                top = imported.partition(".")[0]
                if top == self.ours or top in sys.stdlib_module_names:
                    continue
                if (importer, top) not in allowed:
                    foreign.append((importer, imported))
        return ContractCheck(kept=not foreign, metadata={"foreign": foreign})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print every import of something else."""
        for importer, imported in check.metadata["foreign"]:
            output.print_error(
                f"{importer} must not import {imported}: it is not in the standard library",
                bold=False,
            )

    def _inside(self, module: str) -> bool:
        return any(
            module == package or module.startswith(f"{package}.") for package in self.packages
        )
