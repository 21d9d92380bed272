"""What goes into a package, and that the same sources make the same bytes."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import pytest
from am_server.tools.catalogue import load

from infra import packaging
from infra.import_graph import reach
from infra.packaging import FUNCTIONS, ROOT, Package, build, direct_requirements, reach_of, write_zip

LIBRARY = {
    "am_server/__init__.py": "",
    "am_server/edge/__init__.py": "",
    "am_server/edge/entry.py": "from typing import TYPE_CHECKING\nfrom am_server.edge import log\n"
    "if TYPE_CHECKING:\n    from am_server.types import Only\n\n"
    "def lazy():\n    from am_server.heavy import Heavy\n    import numpy as np\n",
    "am_server/edge/log.py": "import json",
    "am_server/heavy.py": "from importlib.util import find_spec\nfind_spec('wordllama')",
    "am_server/types.py": "class Only: ...",
    "am_server/unused.py": "import boto3",
    "am_server/tools/__init__.py": "",
    "am_server/tools/a.py": "import importlib\nname = 'b'\nimportlib.import_module(f'am_server.tools.{name}')",
    "am_server/tools/b.py": "from google.cloud import storage",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in LIBRARY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def entry(source: Path, text: str) -> Path:
    file = source / "main.py"
    file.write_text(text)
    return file


def test_lazy_imports_count_and_those_for_type_checkers_do_not(source):
    found = reach(entry(source, "from am_server.edge.entry import lazy"), source)
    assert found.modules == {"am_server", "am_server.edge", "am_server.edge.entry", "am_server.edge.log", "am_server.heavy"}
    assert {"numpy", "wordllama"} <= found.foreign
    assert "boto3" not in found.foreign


def test_what_is_left_out_is_not_followed(source):
    found = reach(entry(source, "from am_server.edge.entry import lazy"), source, without=("am_server.heavy",))
    assert "am_server.heavy" not in found.modules
    assert "wordllama" not in found.foreign


def test_modules_named_at_run_time_are_found(source):
    found = reach(entry(source, "import am_server.tools.a"), source)
    assert {"am_server.tools.a", "am_server.tools.b"} <= found.modules
    assert "google.cloud.storage" in found.foreign


def test_a_module_that_does_not_exist_is_named(source):
    with pytest.raises(LookupError, match=r"am_server\.nothing"):
        reach(entry(source, "import am_server.nothing"), source)


def test_an_import_without_a_known_requirement_is_named(source):
    found = reach(entry(source, "import leftpad"), source)
    with pytest.raises(LookupError, match="leftpad"):
        direct_requirements(found)


def test_a_rebuild_makes_the_same_bytes(tmp_path):
    first, second = build(tmp_path / "first"), tmp_path / "second"
    for file in (ROOT / "shared").rglob("*.py"):
        os.utime(file)
    for name, again in build(second).items():
        assert again.name == first[name].name
        assert again.read_bytes() == first[name].read_bytes()
    assert (second / "manifest.json").read_bytes() == (tmp_path / "first" / "manifest.json").read_bytes()


def test_the_name_follows_the_content():
    digests = [Package("f", files).digest for files in ({"a": b"bc"}, {"ab": b"c"}, {"a": b"bd"}, {"a": b"b", "c": b""})]
    assert len(set(digests)) == 4
    assert Package("f", {"a": b"1", "b": b"2"}).digest == Package("f", {"b": b"2", "a": b"1"}).digest


def test_a_zip_tells_nothing_of_the_machine(tmp_path):
    file = write_zip(Package("f", {"main.py": b"x", "am_server/a.py": b"y"}), tmp_path)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == ["am_server/a.py", "main.py"]
    assert {(entry.date_time, entry.external_attr, entry.create_system) for entry in entries} == {
        (packaging.EPOCH, 0o644 << 16, 3)
    }


def test_the_manifest_is_what_terraform_reads(tmp_path):
    zips = build(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert set(manifest) == set(FUNCTIONS)
    for name, described in manifest.items():
        digest = zips[name].stem.rpartition("-")[2]
        assert described == {
            "file": zips[name].name,
            "object": f"functions/{name}/{digest}.zip",
            "entry_point": name,
            "runtime": "python311",
        }


def test_the_list_of_tools_is_packaged_where_it_is_published():
    listed = json.loads(packaging.package("mcp").files["am_server/mcp/tools.json"])
    assert [entry["name"] for _, entry in listed] == list(load())
    assert not [name for name in FUNCTIONS if name != "mcp" and "am_server.mcp.tools_list" in reach_of(name).modules]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_requirement_is_pinned_and_hashed(function):
    lines = packaging.package(function).files["requirements.txt"].decode().splitlines()[1:]
    for line in lines:
        assert re.fullmatch(r"[a-z0-9.-]+==[^ ]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_each_function_requires_only_what_it_needs():
    needed = {name: {pin.partition("==")[0] for pin in direct_requirements(reach_of(name))} for name in FUNCTIONS}
    server, store = {"functions-framework", "gunicorn"}, {"google-cloud-firestore"}
    assert needed["health"] == server | store | {"google-cloud-storage"}
    assert needed["keys"] == needed["space_token"] == server | store | {"pyjwt"}
    assert {"numpy", "pydantic", "pystemmer", "google-cloud-storage"} <= needed["mcp"]
    assert not [name for name, pins in needed.items() if "boto3" in pins]


def test_no_package_holds_what_only_a_laptop_uses():
    for name in FUNCTIONS:
        modules = reach_of(name).modules
        assert not modules & {"am_server.store.sqlite", "am_server.objects.directory", "am_server.objects.s3"}
        assert "am_server.wiring" in modules
