"""Objects as files in a local folder, safe between threads and processes.

The file of an object is its generation (16 random bytes) followed by its data. Parts of a name are percent-encoded and
the last one ends in "@", which no encoded part contains: so `a` and `a/b` can both exist, and no name leaves the folder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from am_server.objects.names import check_name
from am_server.objects.port import ABSENT, Blob, GenerationMismatch, ObjectStoreUnavailable

_GENERATION_BYTES = 16
_MARK = "@"


class DirectoryStore:
    """The `ObjectStore` that needs nothing but a folder, `root`, which is made when absent."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, name: str) -> Blob | None:
        with _errors():
            try:
                content = self._file(name).read_bytes()
            except FileNotFoundError:
                return None
        return Blob(content[_GENERATION_BYTES:], content[:_GENERATION_BYTES].hex())

    def put(self, name: str, data: bytes, if_generation: str | None = None) -> str:
        file = self._file(name)
        generation = os.urandom(_GENERATION_BYTES)
        with _errors():
            draft = self._draft(generation + data)
            try:
                with self._locked():
                    if if_generation is not None and if_generation != self._generation(file):
                        raise GenerationMismatch("the object changed at the same time; read it again")
                    self._make_folder(file.parent)
                    draft.rename(file)
                    _sync(file.parent)
            finally:
                draft.unlink(missing_ok=True)
        return generation.hex()

    def list(self, prefix: str) -> list[str]:
        folder = self._root.joinpath(*map(_encode, prefix.split("/")[:-1]))
        with _errors():
            files = [
                os.path.relpath(os.path.join(place, file), self._root)
                for place, _, files in os.walk(folder, onerror=_raise_unless_absent)
                for file in files
                if file.endswith(_MARK)
            ]
        names = (unquote(file[: -len(_MARK)]) for file in files)
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        file = self._file(name)
        with _errors(), self._locked():
            file.unlink(missing_ok=True)
            for folder in file.parents:
                if folder == self._root or not _removed_if_empty(folder):
                    break

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _file(self, name: str) -> Path:
        check_name(name)
        return self._root.joinpath(*map(_encode, name.split("/"))).with_name(_encode(name.rpartition("/")[2]) + _MARK)

    def _draft(self, content: bytes) -> Path:
        """A complete, durable file that has no name yet."""
        drafts = self._root / f"{_MARK}drafts"
        drafts.mkdir(parents=True, exist_ok=True)
        draft = drafts / content[:_GENERATION_BYTES].hex()
        with open(draft, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return draft

    def _generation(self, file: Path) -> str:
        try:
            with file.open("rb") as stream:
                return stream.read(_GENERATION_BYTES).hex()
        except FileNotFoundError:
            return ABSENT

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folder(folder.parent)
            folder.mkdir()
            _sync(folder.parent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among all threads and processes that change this folder."""
        self._root.mkdir(parents=True, exist_ok=True)
        with open(self._root / f"{_MARK}lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                # Closing is not enough when another thread forked meanwhile: the child holds the same open file.
                fcntl.flock(lock, fcntl.LOCK_UN)


def _encode(part: str) -> str:
    return quote(part, safe="")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _raise_unless_absent(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _removed_if_empty(folder: Path) -> bool:
    with suppress(OSError):
        folder.rmdir()
        return True
    return False


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ObjectStoreUnavailable(
            f"the object folder cannot be used ({error.strerror}); check AM_DATA_DIR, its permissions and the free disk space"
        ) from error
