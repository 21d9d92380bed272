"""Which modules of the library a function can reach, lazily imported ones included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = "am_server"


@dataclass
class Reach:
    """What an entry point can import."""

    modules: set[str] = field(default_factory=set)
    """Of the library, packages included: `am_server.edge`, `am_server.edge.entry`."""
    foreign: set[str] = field(default_factory=set)
    """Everything else, by its full dotted name, down to the name that is imported from a module."""


def reach(entry: Path, source: Path, without: Sequence[str] = ()) -> Reach:
    """Follow the imports of the file `entry` through the library under `source`, leaving out `without`.

    `without` names modules, or packages with everything in them. Imports for type checkers alone do not count.
    Raises LookupError when a module is imported that does not exist.
    """
    found = Reach()
    waiting = [entry]
    while waiting:
        for name in imported(ast.parse(waiting.pop().read_text()), source):
            if name.partition(".")[0] != LIBRARY:
                found.foreign.add(name)
                continue
            for module in _with_parents(name):
                if module in found.modules or _excluded(module, without):
                    continue
                found.modules.add(module)
                waiting.append(module_file(module, source))
    return found


def imported(tree: ast.AST, source: Path) -> Iterator[str]:
    """The modules that a file imports anywhere in it, also by `import_module` and `find_spec`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            yield from _named(node, source)
        elif isinstance(node, ast.Call):
            yield from _by_name(node, source)
        yield from imported(node, source)


def module_file(module: str, source: Path) -> Path:
    """The file of a module or package. Raises LookupError when there is none."""
    base = source.joinpath(*module.split("."))
    for file in (base.with_suffix(".py"), base / "__init__.py"):
        if file.exists():
            return file
    raise LookupError(f"{module} is imported but does not exist")


def _named(node: ast.ImportFrom, source: Path) -> Iterator[str]:
    """`from am_server.edge import log` imports a module, `from am_server.errors import AmError` does not."""
    module = str(node.module)
    ours = module.partition(".")[0] == LIBRARY
    if ours:
        yield module
    for alias in node.names:
        name = f"{module}.{alias.name}"
        if not ours or source.joinpath(*name.split(".")).with_suffix(".py").exists():
            yield name


def _by_name(call: ast.Call, source: Path) -> Iterator[str]:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    if function not in ("import_module", "find_spec") or not call.args:
        return
    name = call.args[0]
    if isinstance(name, ast.Constant):
        yield str(name.value)
    elif isinstance(name, ast.JoinedStr) and isinstance(name.values[0], ast.Constant):
        package = str(name.values[0].value).removesuffix(".")  # f"am_server.tools.{module}": any module of the package
        yield from (f"{package}.{file.stem}" for file in sorted(source.joinpath(*package.split(".")).glob("*.py")))


def _with_parents(module: str) -> Iterator[str]:
    parts = module.removesuffix(".__init__").split(".")
    yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _excluded(module: str, without: Sequence[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in without)
