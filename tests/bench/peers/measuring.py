"""The work that every memory does, and its measurement. Runs in each one's own environment, so it imports little.

A driver module offers `open_memory(folder) -> Memory` and calls `drive(open_memory)`; see `Memory`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

FOUND = 12
"""Results a search returns."""


class Memory(Protocol):
    """An empty memory in a folder of its own."""

    def fill(self, texts: Sequence[str]) -> None:
        """Store texts by the quickest way there is."""
        ...

    def add(self, text: str) -> None:
        """Store one text as a user would."""
        ...

    def settle(self, seconds: float) -> None:
        """Finish within about this time what filling put off."""
        ...

    def search(self, query: str) -> list[str]:
        """The texts found, best first, at most FOUND."""
        ...

    def close(self) -> None: ...


class Encoder:
    """MiniLM-L6-v2 (int8, ONNX) from the packages of the project's own environment; known texts come from a file."""

    def __init__(self, files: Any) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(files["tokenizer"])
        self._tokenizer.enable_truncation(256)
        self._tokenizer.no_padding()  # its file asks for 128 tokens, which costs a short question four times its own time
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(files["model"], options, providers=["CPUExecutionProvider"])
        known = np.load(files["vectors"])
        self._known = dict(zip(known["names"].tolist(), known["vectors"], strict=True))

    def embed(self, text: str) -> list[float]:
        """384 numbers, of unit length."""
        known = self._known.get(name_of(text))
        return [float(value) for value in (self._encode(text) if known is None else known)]

    def _encode(self, text: str) -> Any:
        encoding = self._tokenizer.encode(text)
        ids = np.array([encoding.ids], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = {each.name for each in self._session.get_inputs()}
        hidden = self._session.run(None, {name: value for name, value in feeds.items() if name in wanted})[0]
        vector = hidden[0].mean(axis=0)
        return vector / np.linalg.norm(vector)


def name_of(text: str) -> str:
    """Under which a text's vector is kept."""
    return hashlib.sha1(text.encode()).hexdigest()[:20]


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds."""
    ordered = sorted(seconds)
    return {f"p{q}": round(1000 * ordered[min(len(ordered) - 1, len(ordered) * q // 100)], 3) for q in (50, 95, 99)}


def timed(calls: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """How long each call took; stops when the time is up."""
    taken: list[float] = []
    until = time.monotonic() + seconds
    for call in calls:
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
        if time.monotonic() > until:
            break
    return taken


def speed(memory: Memory, work: Any) -> dict[str, Any]:
    """Fill up to the size or until the time is up, then write and search one by one."""
    texts, batch, done = work["texts"][: int(os.environ["MOST_TEXTS"])], 200, 0
    began = time.monotonic()
    while done < len(texts) and time.monotonic() - began < work["seconds"]:
        memory.fill(texts[done : done + batch])
        done += batch
    memory.settle(work["seconds"])
    filled = time.monotonic() - began
    writes = timed([lambda t=text: memory.add(t) for text in work["writes"]], work["seconds"] / 4)
    memory.settle(work["seconds"] / 4)
    searches = timed([lambda q=query: memory.search(q) for query in work["questions"]], work["seconds"] / 4)
    found = {"size": min(done, len(texts)), "filled_in_s": round(filled, 1)}
    found |= {"write_ms": quantiles(writes), "search_ms": quantiles(searches)}
    if _encoders:
        found["encoder_ms"] = quantiles(timed([lambda q=query: _encoders[0].embed(q) for query in work["questions"]], 5))
    return found


def recall(open_memory: Callable[[Path], Memory], folder: Path, work: Any) -> dict[str, Any] | None:
    """Mean share of a question's evidence among the first FOUND, in percent; over as many conversations as time allows."""
    shares: list[float] = []
    until, done = time.monotonic() + work["seconds"], 0
    for number, conversation in enumerate(work["conversations"]):
        if time.monotonic() > until and done:
            break
        memory = open_memory(folder / f"conversation-{number}")
        texts: dict[str, str] = conversation["turns"]
        memory.fill(list(texts))
        memory.settle(work["seconds"])
        for query, evidence in conversation["questions"]:
            found = {texts[text] for text in memory.search(query) if text in texts}
            shares.append(len(found.intersection(evidence)) / len(evidence))
        memory.close()
        done += 1
    if not shares:
        return None
    return {"percent": round(100 * sum(shares) / len(shares), 1), "questions": len(shares), "conversations": done}


def drive(open_memory: Callable[[Path], Memory]) -> None:
    """`python -m ... WORK OUT`: do the work and write what was measured; what fails is written as its error."""
    work, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in {
            "speed": lambda: speed(open_memory(Path(folder) / "speed"), work),
            "recall@12": lambda: recall(open_memory, Path(folder), work),
        }.items():
            try:
                found[name] = measure()
            except Exception:
                found[name] = {"error": traceback.format_exc().strip().splitlines()[-1][:300]}
                traceback.print_exc()
            out.write_text(json.dumps(found))


_encoders: list[Encoder] = []


def encoder() -> Encoder:
    """The encoder that the work names."""
    if not _encoders:
        _encoders.append(Encoder(json.loads(Path(sys.argv[1]).read_text())["encoder"]))
    return _encoders[0]
