"""Write `schema.json`: the schema of the Google provider resources that this project uses.

    python -m tests.terraform.double.extract google.whl google_beta.whl

The provider itself cannot be had from a package registry, but the wheels `cdktn-provider-google` and
`cdktn-provider-google-beta` (PyPI, MPL-2.0) are generated from its schema: each resource is a JavaScript class whose
every attribute carries a comment `name - computed, optional, required`, a typed getter, and, for a block, the class of
its content. The declarations beside it name the values of enumerations. Reading those texts needs neither node nor an
import of the wheel. Run this again when the provider version changes or a new resource type is used.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("schema.json")

TERRAFORM = Path(__file__).resolve().parents[3] / "terraform"

TYPES: dict[str, Any] = {
    "String": "string",
    "Number": "number",
    "Boolean": "bool",
    "List": ["list", "string"],
    "StringList": ["list", "string"],
    "NumberList": ["list", "number"],
    "StringMap": ["map", "string"],
    "BooleanMap": ["map", "bool"],
    "NumberMap": ["map", "number"],
    "AnyMap": ["map", "string"],
}

CLASS = re.compile(r"\nclass (\w+) extends (?:cdktn\.)?(\w+) \{(.*?)\n\}", re.S)
MEMBER = re.compile(r"    // (\w+) - computed: (\w+), optional: (\w+), required: (\w+)\n(.*?)(?=\n    // |\Z)", re.S)
CONTENT = re.compile(r"= new (?!cdktn\.)(?:\w+\.)?(\w+?)(List|Map|OutputReference)\(this, \"\w+\"(?:, (true|false))?")
GETTER = re.compile(r"this\.get(\w*?)Attribute\('")
NOT_A_BLOCK = re.compile(
    r"\n\s+(\w+): \{\n\s+value: [^\n]+\n\s+isBlock: false,\n\s+type: \"(\w+)\",\n\s+storageClassType: \"(\w+)\""
)
WRITER = re.compile(r"\nfunction (\w+)ToHclTerraform\(struct\) \{(.*?)\n\}", re.S)
INTERFACE = re.compile(r"export interface (\w+)(?: extends [\w.]+)? \{(.*?)\n\}", re.S)
POSSIBLE = re.compile(r"Possible values: \[([^\]]*)\]")


def sources(wheel: Path, folders: set[str]) -> dict[str, tuple[str, str]]:
    """The JavaScript and the declarations of each folder, by folder, in one pass over the archive."""
    found: dict[str, list[str]] = {folder: ["", ""] for folder in folders}
    with zipfile.ZipFile(wheel) as archive:
        package = next(name for name in archive.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(archive.read(package)), mode="r|gz") as files:
            for entry in files:
                parts = entry.name.split("/")
                if len(parts) < 4 or parts[2] not in folders or not parts[-1].endswith((".js", ".d.ts")):
                    continue
                content = files.extractfile(entry)
                assert content
                text = content.read().decode().split("//# sourceMappingURL")[0]
                found[parts[2]][parts[-1].endswith(".d.ts")] += "\n" + text
    return {folder: (texts[0], texts[1]) for folder, texts in found.items()}


class Resource:
    """The classes of one resource, and what they say about its attributes and blocks."""

    def __init__(self, javascript: str, declarations: str) -> None:
        self.classes = {name: (parent, body) for name, parent, body in CLASS.findall(javascript)}
        self.writers = dict(WRITER.findall(javascript))
        self.interfaces = dict(INTERFACE.findall(declarations))

    def root(self) -> dict[str, Any]:
        """The schema of the resource or provider class itself."""
        name = next(name for name, (parent, _) in self.classes.items() if parent.startswith("Terraform"))
        body = self.classes[name][1]
        return self.block(body, body, self.interfaces[name + "Config"])

    def block(self, body: str, writer: str, interface: str) -> dict[str, Any]:
        """`body` has the members, `writer` tells blocks from attributes, `interface` knows the enumerations."""
        attributes: dict[str, Any] = {}
        blocks: dict[str, Any] = {}
        written = {name: (kind, storage) for name, kind, storage in NOT_A_BLOCK.findall(writer)}
        values = enumerations(interface)
        for name, computed, optional, required, code in MEMBER.findall(body):
            mode = "required" if required == "true" else "optional" if optional == "true" else "computed"
            content = CONTENT.search(code)
            if content and mode != "computed" and name not in written:
                blocks[name] = self.nested(name, mode, content)
                continue
            if mode == "optional" and computed == "true":
                mode = "optional+computed"
            if name.endswith("_wo"):
                mode = "write-only"
            attributes[name] = {"type": self.type_of(code, written.get(name)), "mode": mode}
            if name in values and mode != "computed":
                attributes[name]["values"] = values[name]
        return {"attributes": attributes, "blocks": blocks}

    def nested(self, name: str, mode: str, content: re.Match[str]) -> dict[str, Any]:
        inner = content[1]
        writer = self.writers[inner[0].lower() + inner[1:]]
        block = self.block(self.classes[inner + "OutputReference"][1], writer, self.interfaces[inner])
        if name == "timeouts":
            return {"nesting": "single", "min": 0, "max": 0, **block}
        nesting = "set" if content[3] == "true" else "list"
        return {"nesting": nesting, "min": int(mode == "required"), "max": int(content[2] == "OutputReference"), **block}

    def type_of(self, code: str, written: tuple[str, str] | None) -> Any:
        """`written` is the kind of value that the attribute is written as, if it can be written at all."""
        content = CONTENT.search(code)
        if content:
            kind = "map" if content[2] == "Map" else "set" if content[3] == "true" else "list"
            return [kind, self.object(content[1] + "OutputReference")]
        if "StringMap(" in code:
            return ["map", "string"]
        getter = GETTER.search(code)
        name = getter[1] if getter else written[1][0].upper() + written[1][1:] if written else "String"
        known = TYPES[name]
        return ["set", known[1]] if written and written[0] == "set" else known

    def object(self, class_name: str) -> Any:
        members = MEMBER.findall(self.classes[class_name][1])
        return ["object", {name: self.type_of(code, None) for name, _, _, _, code in members}]


def enumerations(interface: str) -> dict[str, list[str]]:
    """The values that each attribute of an interface is limited to."""
    found = {}
    for comment in re.findall(r"/\*\*(.*?)\*/", interface, re.S):
        values = POSSIBLE.search(re.sub(r"\n\s+\* ?", " ", comment))
        name = re.search(r"#(\w+) \w+#\w+\}", comment)
        if values and name:
            found[name[1]] = re.findall(r'"([^"]+)"', values[1])
    return found


def extract(wheel: Path, types: list[str], prefix: str) -> dict[str, Any]:
    """The schema of those of the resource types that the wheel has; its folders begin with `prefix`."""
    folders = {name: prefix + name.removeprefix("google_").replace("_", "-") for name in types}
    texts = sources(wheel, set(folders.values()))
    return {name: Resource(*texts[folder]).root() for name, folder in folders.items() if texts[folder][0]}


def provider(wheel: Path) -> dict[str, Any]:
    """The schema of the provider block; every argument is optional."""
    schema = Resource(*sources(wheel, {"provider"})["provider"]).root()
    return {**schema, "attributes": {name: {**value, "mode": "optional"} for name, value in schema["attributes"].items()}}


def types_used() -> list[str]:
    """The resource types that the Terraform files of this project declare."""
    texts = (path.read_text() for path in TERRAFORM.rglob("*.tf"))
    return sorted({name for text in texts for name in re.findall(r'^resource "(google_\w+)"', text, re.M)})


def main() -> None:
    google, beta = map(Path, sys.argv[1:3])
    types = types_used()
    resources = extract(google, types, "")
    resources |= extract(beta, [name for name in types if name not in resources], "google-")
    missing = set(types) - set(resources)
    if missing:
        raise SystemExit(f"neither wheel has {', '.join(sorted(missing))}")
    lines = [f"{json.dumps(name)}:{json.dumps(block, separators=(',', ':'))}" for name, block in sorted(resources.items())]
    head = json.dumps(provider(google), separators=(",", ":"))
    SCHEMA.write_text('{"provider":' + head + ',\n"resources":{\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
