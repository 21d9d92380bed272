"""The import rule: a request passes left to right, and only the edges do input and output."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "shared" / "am_server"

MAY_IMPORT = {
    "edge": {"edge", "identity", "store.metered"},
    "mcp": {"mcp", "edge", "tools", "identity"},
    "rest": {
        "rest",
        "edge",
        "tools",
        "identity",
        "memory",
        "views",
        "store.port",
        "store.metered",
        "store.indexes",
        "store.retrying",
    },
    "tools": {
        "tools",
        "identity",
        "memory",
        "views",
        "store.port",
        "store.metered",
        "store.retrying",
        "objects.port",
        "embed.port",
    },
    "memory": {"memory"},
    "views": {"views", "memory", "store.port", "store.metered", "store.indexes", "store.retrying", "objects.port", "embed.port"},
    "store": {"store"},
    "objects": {"objects", "store.metered"},
    "embed": {"embed", "memory"},
    "identity": {"identity", "edge", "store.port", "store.metered", "store.retrying"},
}
EVERYWHERE = {"__version__", "errors", "per_process", "times", "wiring"}
INPUT_OUTPUT = {"sqlite3", "google", "boto3", "requests", "urllib", "http", "socket", "subprocess", "flask", "gunicorn"}
HEAVY = {"numpy", "google", "boto3", "requests", "tokenizers", "safetensors", "Stemmer", "jwt", "onnxruntime"}


def modules(package: str) -> list[Path]:
    return sorted((PACKAGE / package).rglob("*.py"))


def imports(path: Path, *, whole: bool) -> set[str]:
    """Modules that a file imports, leaving out those for type checkers alone; `whole` includes those inside functions."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.FunctionDef) and not whole:
                continue
            if isinstance(child, ast.Import):
                found.update(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                found.update(
                    f"{child.module}.{alias.name}" if child.module == "am_server" else child.module for alias in child.names
                )
            visit(child)

    visit(ast.parse(path.read_text()))
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_arrow_is_reversed(package):
    for path in modules(package):
        for name in imports(path, whole=True):
            if not name.startswith("am_server."):
                continue
            inner = name.removeprefix("am_server.")
            allowed = any(inner == rule or inner.startswith(rule + ".") for rule in MAY_IMPORT[package] | EVERYWHERE)
            assert allowed, f"{path.relative_to(PACKAGE)} imports {name}"


def test_memory_does_no_input_or_output():
    for path in modules("memory"):
        tops = {name.partition(".")[0] for name in imports(path, whole=True)}
        assert not tops & INPUT_OUTPUT, f"{path.name} imports {tops & INPUT_OUTPUT}"


@pytest.mark.parametrize("package", ["edge", "mcp", "tools", "identity", "rest"])
def test_what_every_request_loads_is_light(package):
    for path in modules(package):
        tops = {name.partition(".")[0] for name in imports(path, whole=False)}
        assert not tops & HEAVY, f"{path.relative_to(PACKAGE)} imports {tops & HEAVY} at its top"
