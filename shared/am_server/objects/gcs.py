"""Objects in a Google Cloud Storage bucket, or on an emulator when STORAGE_EMULATOR_HOST is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import google.auth.exceptions
import requests
from google.api_core.exceptions import GoogleAPIError, NotFound, PreconditionFailed
from google.cloud.storage import Bucket, Client
from google.cloud.storage.retry import DEFAULT_RETRY

from am_server.objects.names import check_name
from am_server.objects.port import ABSENT, Blob, GenerationMismatch, ObjectStoreUnavailable
from am_server.per_process import PerProcess

_SECONDS = 10.0
_RETRY = DEFAULT_RETRY.with_timeout(20.0)
_NO_BUCKET = "bucket does not exist"


class GcsStore:
    """The `ObjectStore` of the cloud."""

    def __init__(self, bucket: str) -> None:
        self._name = bucket
        self._client = PerProcess(Client)

    def get(self, name: str) -> Blob | None:
        check_name(name)
        with self._errors():
            blob = self._bucket().blob(name)
            try:
                data = blob.download_as_bytes(timeout=_SECONDS, retry=_RETRY)
            except NotFound as error:
                if _NO_BUCKET in str(error):
                    raise
                return None
            return Blob(data, str(blob.generation))

    def put(self, name: str, data: bytes, if_generation: str | None = None) -> str:
        check_name(name)
        expected = None if if_generation is None else 0 if if_generation == ABSENT else int(if_generation)
        # A condition that held once does not hold when the same request is repeated.
        retry = _RETRY if expected is None else None
        with self._errors():
            blob = self._bucket().blob(name)
            try:
                blob.upload_from_string(
                    data, "application/octet-stream", if_generation_match=expected, timeout=_SECONDS, retry=retry
                )
            except PreconditionFailed:
                raise GenerationMismatch("the object changed at the same time; read it again") from None
            return str(blob.generation)

    def list(self, prefix: str) -> list[str]:
        with self._errors():
            found = self._client.get().list_blobs(
                self._name, prefix=prefix, fields="items(name),nextPageToken", timeout=_SECONDS, retry=_RETRY
            )
            return sorted(blob.name for blob in found)

    def delete(self, name: str) -> None:
        check_name(name)
        with self._errors():
            try:
                self._bucket().blob(name).delete(timeout=_SECONDS, retry=_RETRY)
            except NotFound as error:
                if _NO_BUCKET in str(error):
                    raise

    def close(self) -> None:
        self._client.close(lambda client: client.close())

    def _bucket(self) -> Bucket:
        return self._client.get().bucket(self._name)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (GoogleAPIError, google.auth.exceptions.GoogleAuthError, requests.RequestException, ConnectionError) as error:
            raise ObjectStoreUnavailable(
                f"the bucket '{self._name}' cannot be used ({type(error).__name__}); check AM_BUCKET and the role of this "
                "service, or try again"
            ) from error
