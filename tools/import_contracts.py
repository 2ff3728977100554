"""import-linter contracts of our own: the standard library only, and imports as folders say them.

import-linter's own `forbidden` contract needs the names of what is forbidden; the probe, in other
people's processes, must not import any third-party package, whatever its name.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
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


class AsFoldersSay(Contract):
    """A folder imports what its docstring names: "Imports: PACKAGES; SIBLINGS.", or "none".

    Siblings are files and folders beside it, or beside a folder above it. "what stands below it"
    leaves them to the contract of the package's layers. `sources`: where the packages lie.
    """

    type_name = "as_folders_say"

    ours: Any = fields.StringField()
    sources: Any = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001  import-linter's signature
        """Collect every import that the folder of the importer does not name."""
        wrong = []
        for package in sorted(graph.modules):
            file = Path(self.sources, *package.split("."), "__init__.py")
            if package.startswith(f"{self.ours}.") and file.is_file():
                wrong += list(self._wrong(graph, package, file))
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print every one of them."""
        for text in check.metadata["wrong"]:
            output.print_error(text, bold=False)

    def _wrong(self, graph: ImportGraph, package: str, file: Path) -> Iterator[str]:
        text = " ".join((ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split())
        said = re.search(r"\bIn: .+ Out: .+ Imports: ([^.]+)\.", text)
        if said is None:
            yield f"{file}: its docstring does not say In: ... Out: ... Imports: ..."
            return
        others, _, beside = said[1].partition("; ")
        allowed = [set(part.split(", ")) for part in (others, beside or others)]
        inside = {package} | graph.find_descendants(package)
        for importer in sorted(inside):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if not imported.startswith(f"{self.ours}.") or imported in inside:
                    continue
                name, same_package = self._name(package, imported)
                known = allowed[same_package]
                if name not in known and not (same_package and "what stands below it" in known):
                    yield f"{package} does not say that it imports {name}: {importer} -> {imported}"

    @staticmethod
    def _name(package: str, imported: str) -> tuple[str, bool]:
        """Return what a folder calls an import, and whether it is of its own top-level package."""
        ours, theirs = package.split(".")[1:], imported.split(".")[1:]
        if ours[0] != theirs[0]:
            return theirs[0], False
        same = 0
        while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
            same += 1
        return theirs[min(same, len(theirs) - 1)], True
