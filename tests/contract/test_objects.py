"""The object port: bytes under names, generations, names that are refused."""

from __future__ import annotations

import multiprocessing
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from am_server.objects.directory import DirectoryStore
from am_server.objects.port import ABSENT, GenerationMismatch, ObjectStore, ObjectStoreUnavailable

Open = Callable[..., ObjectStore]


@pytest.fixture(params=["directory", "gcs", "s3"])
def open_bucket(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens the bucket of the test session, or one of another name."""
    if request.param == "directory":
        return lambda bucket="objects": DirectoryStore(tmp_path / bucket)
    environment = request.getfixturevalue(f"{request.param}_environment")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if request.param == "gcs":
        from am_server.objects.gcs import GcsStore

        return lambda bucket=environment["AM_BUCKET"]: GcsStore(bucket)
    from am_server.objects.s3 import S3Store

    return lambda bucket=environment["AM_BUCKET"]: S3Store(bucket)


@pytest.fixture
def objects(open_bucket: Open) -> Iterator[ObjectStore]:
    store = open_bucket()
    yield store
    store.close()


@pytest.fixture
def place() -> str:
    """A prefix of its own for a test, because buckets are shared by the session."""
    return f"t/{uuid.uuid4()}"


@pytest.mark.parametrize("data", [b"", b"hello", bytes(range(256)) * 4096], ids=["empty", "text", "megabyte"])
def test_an_object_comes_back_as_it_was_put(objects: ObjectStore, place: str, data: bytes) -> None:
    generation = objects.put(f"{place}/a", data)
    found = objects.get(f"{place}/a")
    assert found is not None
    assert (found.data, found.generation) == (data, generation)


def test_an_absent_object_is_none(objects: ObjectStore, place: str) -> None:
    assert objects.get(f"{place}/none") is None


def test_putting_again_replaces_and_makes_another_generation(objects: ObjectStore, place: str) -> None:
    first = objects.put(f"{place}/a", b"one")
    second = objects.put(f"{place}/a", b"two")
    assert first != second
    assert objects.get(f"{place}/a").data == b"two"  # type: ignore[union-attr]


def test_only_absent_creates_once(objects: ObjectStore, place: str) -> None:
    objects.put(f"{place}/a", b"one", ABSENT)
    with pytest.raises(GenerationMismatch):
        objects.put(f"{place}/a", b"two", ABSENT)
    assert objects.get(f"{place}/a").data == b"one"  # type: ignore[union-attr]
    objects.delete(f"{place}/a")
    objects.put(f"{place}/a", b"three", ABSENT)


def test_only_the_expected_generation_is_replaced(objects: ObjectStore, place: str) -> None:
    first = objects.put(f"{place}/a", b"one")
    second = objects.put(f"{place}/a", b"two", first)
    with pytest.raises(GenerationMismatch):
        objects.put(f"{place}/a", b"three", first)
    with pytest.raises(GenerationMismatch):
        objects.put(f"{place}/none", b"x", second)
    found = objects.get(f"{place}/a")
    assert found is not None
    assert (found.data, found.generation) == (b"two", second)


def test_deleting_is_the_same_twice(objects: ObjectStore, place: str) -> None:
    objects.put(f"{place}/a", b"one")
    objects.delete(f"{place}/a")
    objects.delete(f"{place}/a")
    assert objects.get(f"{place}/a") is None
    assert objects.list(place) == []


def test_a_list_is_sorted_and_goes_by_prefix_not_by_folder(objects: ObjectStore, place: str) -> None:
    for name in ("b", "a/2", "a/1", "a", "ab/c", "a/sub/deep", "é/ü"):
        objects.put(f"{place}/{name}", name.encode())
    everything = [f"{place}/{name}" for name in ("a", "a/1", "a/2", "a/sub/deep", "ab/c", "b", "é/ü")]
    assert objects.list(f"{place}/") == everything
    assert objects.list(f"{place}/a") == everything[:5]
    assert objects.list(f"{place}/a/") == everything[1:4]
    assert objects.list(f"{place}/z") == []
    assert objects.get(f"{place}/é/ü").data == "é/ü".encode()  # type: ignore[union-attr]


def test_a_list_has_every_page(objects: ObjectStore, place: str) -> None:
    names = [f"{place}/{n:04}" for n in range(1_050)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: objects.put(name, b"x"), names))
    assert objects.list(place) == names


@pytest.mark.parametrize("name", ["a b", "a%2Fb", "a@", "..a", "a..", "x~!$&'()*+,;=:", "世界/\U0001f600", "quote\"'"])
def test_odd_names_work(objects: ObjectStore, place: str, name: str) -> None:
    objects.put(f"{place}/{name}", b"x")
    assert objects.get(f"{place}/{name}").data == b"x"  # type: ignore[union-attr]
    assert objects.list(place) == [f"{place}/{name}"]
    objects.delete(f"{place}/{name}")
    assert objects.list(place) == []


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "../../etc/passwd", "a/./b", "a\nb", "a\x00b", "x" * 300]
)
def test_names_that_lead_elsewhere_are_refused(objects: ObjectStore, name: str) -> None:
    for act in (lambda: objects.get(name), lambda: objects.put(name, b"x"), lambda: objects.delete(name)):
        with pytest.raises(ValueError):
            act()


def test_of_many_creators_one_wins(objects: ObjectStore, place: str) -> None:
    def create(n: int) -> bool:
        try:
            objects.put(f"{place}/a", str(n).encode(), ABSENT)
        except GenerationMismatch:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(16)))
    assert won.count(True) == 1
    assert objects.get(f"{place}/a").data == str(won.index(True)).encode()  # type: ignore[union-attr]


def append(objects: ObjectStore, name: str, count: int) -> None:
    """Append lines by compare-and-set."""
    for n in range(count):
        while True:
            found = objects.get(name)
            try:
                objects.put(name, (found.data if found else b"") + b"%d\n" % n, found.generation if found else ABSENT)
                break
            except GenerationMismatch:
                continue


def test_no_append_is_lost_between_threads(objects: ObjectStore, place: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: append(objects, f"{place}/log", 5), range(4)))
    assert len(objects.get(f"{place}/log").data.splitlines()) == 20  # type: ignore[union-attr]


def _append_in_folder(root: Path) -> None:
    append(DirectoryStore(root), "log", 25)


def test_no_append_is_lost_between_processes(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_append_in_folder, [tmp_path] * 4)
    assert len(DirectoryStore(tmp_path).get("log").data.splitlines()) == 100  # type: ignore[union-attr]


def test_a_folder_keeps_objects_for_the_next_process_and_no_drafts(tmp_path: Path) -> None:
    DirectoryStore(tmp_path).put("a/b", b"x")
    assert DirectoryStore(tmp_path).list("") == ["a/b"]
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()) == ["@lock", "a/b@"]


def test_a_folder_that_cannot_be_used_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ObjectStoreUnavailable, match="AM_DATA_DIR"):
        DirectoryStore(tmp_path / "file").put("a", b"x")


@pytest.mark.parametrize("open_bucket", ["gcs", "s3"], indirect=True)
def test_a_bucket_that_is_not_there_is_unavailable(open_bucket: Open) -> None:
    absent = open_bucket("no-such-bucket")
    for act in (lambda: absent.put("a", b"x"), lambda: absent.list("")):
        with pytest.raises(ObjectStoreUnavailable, match="AM_BUCKET"):
            act()
