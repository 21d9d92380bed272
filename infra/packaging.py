"""`make package`: one zip per function, as Cloud Run functions builds it, and a manifest for Terraform.

A zip holds the function's `main.py`, the modules of the library that it can reach, and a `requirements.txt` with a
hash for every wheel. The same sources give the same bytes on every machine, and the object is named by a hash of its
content, so Terraform changes a function exactly when its code or its requirements changed.

    python -m infra.packaging          writes dist/
    python -m infra.packaging lock     writes infra/requirements/ anew, after a change of imports or pins
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from am_server.edge.http import encode_json
from am_server.mcp import tools_list

from infra.import_graph import Reach, module_file, reach

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "shared"
DIST = ROOT / "dist"
LOCKS = ROOT / "infra" / "requirements"
RUNTIME = "python311"
PYTHON = "3.11"
EPOCH = (1980, 1, 1, 0, 0, 0)

LOCAL = ("am_server.store.sqlite", "am_server.objects.directory", "am_server.objects.s3", "am_server.embed.minilm")
"""What the settings that Terraform gives never choose."""

ACCOUNTS_ONLY = ("am_server.rest", "am_server.views", "am_server.objects", "am_server.embed")
"""What a function that only deals with accounts never asks the wiring for."""

NOBODY = (
    "am_server.rest",
    "am_server.views",
    "am_server.embed",
    "am_server.identity.accounts",
    "am_server.identity.quota",
    "am_server.identity.tokens",
)
"""What a function that serves anybody alike never asks the wiring for."""

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "health": (*LOCAL, *NOBODY),
    "keys": (*LOCAL, *ACCOUNTS_ONLY),
    "maintenance": LOCAL,
    "mcp": LOCAL,
    "memories": LOCAL,
    "space_token": (*LOCAL, *ACCOUNTS_ONLY),
}
"""Function → the modules and packages that its package leaves out."""

SERVER = ("functions-framework", "gunicorn")
DISTRIBUTIONS: Mapping[str, str] = {
    "flask": "functions-framework",
    "werkzeug": "functions-framework",
    "google.api_core": "google-cloud-firestore",
    "google.auth": "google-cloud-firestore",
    "google.cloud.firestore_v1": "google-cloud-firestore",
    "google.cloud.storage": "google-cloud-storage",
    "grpc": "google-cloud-firestore",
    "jwt": "pyjwt",
    "msgpack": "msgpack",
    "numpy": "numpy",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic",
    "requests": "google-cloud-storage",
    "safetensors": "safetensors",
    "Stemmer": "pystemmer",
    "tokenizers": "tokenizers",
    "typing_extensions": "pydantic",
    "wordllama": "wordllama",
}
"""Imported package → the requirement of pyproject.toml that brings it."""


@dataclass(frozen=True)
class Package:
    """What goes into a zip."""

    name: str
    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """16 hexadecimal digits over the names, lengths and bytes, so that the version of zlib does not matter."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]


def reach_of(function: str) -> Reach:
    """What the deployed function can import."""
    return reach(ROOT / "functions" / function / "main.py", SOURCE, FUNCTIONS[function])


def direct_requirements(found: Reach) -> list[str]:
    """The pinned requirements, as in pyproject.toml, for what is imported.

    Raises LookupError for an import that no requirement is known to bring.
    """
    pinned = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = {re.split(r"[=\[]", requirement)[0]: requirement for requirement in pinned}
    return sorted(pins[name] for name in {*SERVER, *(_distribution(name) for name in found.foreign if not _standard(name))})


def _standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _distribution(name: str) -> str:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if found := DISTRIBUTIONS.get(".".join(parts[:length])):
            return found
    raise LookupError(f"{name} is imported, but infra/packaging.py does not say which requirement brings it")


def package(function: str) -> Package:
    """The files of a function's zip. Raises LookupError when its lock file is out of date."""
    found = reach_of(function)
    lock = (LOCKS / f"{function}.txt").read_text()
    if lock.splitlines()[0] != _heading(direct_requirements(found)):
        raise LookupError(f"infra/requirements/{function}.txt is out of date: run `make lock`")
    files = {"main.py": (ROOT / "functions" / function / "main.py").read_bytes(), "requirements.txt": lock.encode()}
    for module in found.modules:
        file = module_file(module, SOURCE)
        files[file.relative_to(SOURCE).as_posix()] = file.read_bytes()
    if tools_list.__name__ in found.modules:
        files[tools_list.PREBUILT.relative_to(SOURCE).as_posix()] = encode_json(tools_list.derive())
    return Package(function, files)


def _heading(requirements: list[str]) -> str:
    return f"# from {' '.join(requirements)}"


def write_zip(built: Package, folder: Path) -> Path:
    """The zip file: names in order, no times, no modes of this machine."""
    target = folder / f"{built.name}-{built.digest}.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in sorted(built.files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return target


def build(folder: Path = DIST) -> dict[str, Path]:
    """Package every function into a fresh folder, with a manifest; returns the zips by function."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    zips, manifest = {}, {}
    for name in FUNCTIONS:
        built = package(name)
        zips[name] = write_zip(built, folder)
        manifest[name] = {
            "file": zips[name].name,
            "object": f"functions/{name}/{built.digest}.zip",
            "entry_point": name,
            "runtime": RUNTIME,
        }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return zips


def lock(function: str) -> None:
    """Resolve a function's requirements for the runtime's Python on Linux and write them down with hashes."""
    requirements = direct_requirements(reach_of(function))
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "-",
        "--quiet",
        "--no-header",
        "--no-annotate",
        "--generate-hashes",
        "--no-build",
    ]
    command += ["--python-version", PYTHON, "--python-platform", "x86_64-manylinux_2_28"]
    resolved = subprocess.run(command, input="\n".join(requirements), capture_output=True, text=True, check=False)
    if resolved.returncode:
        raise SystemExit(f"{function}: {resolved.stderr}")
    (LOCKS / f"{function}.txt").write_text(f"{_heading(requirements)}\n{resolved.stdout}")


def main() -> None:
    """Package, or lock with the argument `lock`."""
    if sys.argv[1:] == ["lock"]:
        for function in FUNCTIONS:
            lock(function)
        return
    for file in build().values():
        print(f"{file.stat().st_size:>9,} bytes  {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
