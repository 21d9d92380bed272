"""Objects in any S3-compatible bucket: AWS, MinIO, R2.

Endpoint, region and credentials are found where every AWS tool finds them (AWS_ENDPOINT_URL_S3, AWS_REGION and so on).
A generation is the object's ETag, so it comes back when the same bytes are stored again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from am_server.errors import NotConfigured
from am_server.objects.names import check_name
from am_server.objects.port import ABSENT, Blob, GenerationMismatch, ObjectStoreUnavailable
from am_server.per_process import PerProcess

_ATTEMPTS = 3


class S3Store:
    """The `ObjectStore` of other clouds."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket
        self._client = PerProcess(lambda: _client(_ATTEMPTS))
        # A condition that held once does not hold when the same request is repeated.
        self._conditional_client = PerProcess(lambda: _client(1))

    def get(self, name: str) -> Blob | None:
        check_name(name)
        with self._errors():
            try:
                answer = self._client.get().get_object(Bucket=self._bucket, Key=name)
            except ClientError as error:
                if _code(error) == "NoSuchKey":
                    return None
                raise
            return Blob(answer["Body"].read(), answer["ETag"])

    def put(self, name: str, data: bytes, if_generation: str | None = None) -> str:
        check_name(name)
        condition = (
            {} if if_generation is None else {"IfNoneMatch": "*"} if if_generation == ABSENT else {"IfMatch": if_generation}
        )
        client = self._conditional_client if condition else self._client
        with self._errors():
            try:
                answer = client.get().put_object(Bucket=self._bucket, Key=name, Body=data, **condition)
            except ClientError as error:
                if _code(error) in ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"):
                    raise GenerationMismatch("the object changed at the same time; read it again") from None
                if _code(error) == "NotImplemented":
                    raise NotConfigured("this S3 server does not support conditional writes, which the service needs") from error
                raise
            etag: str = answer["ETag"]
            return etag

    def list(self, prefix: str) -> list[str]:
        with self._errors():
            pages = self._client.get().get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            return sorted(item["Key"] for page in pages for item in page.get("Contents", ()))

    def delete(self, name: str) -> None:
        check_name(name)
        with self._errors():
            self._client.get().delete_object(Bucket=self._bucket, Key=name)

    def close(self) -> None:
        self._client.close(lambda client: client.close())
        self._conditional_client.close(lambda client: client.close())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            reason = _code(error) if isinstance(error, ClientError) else type(error).__name__
            raise ObjectStoreUnavailable(
                f"the bucket '{self._bucket}' cannot be used ({reason}); check AM_BUCKET, the endpoint and the credentials, "
                "or try again"
            ) from error


def _client(attempts: int) -> Any:
    # Checksums that S3 does not require are unknown to many of its look-alikes.
    config = Config(
        connect_timeout=3,
        read_timeout=10,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    # A session of its own: the default one is shared, and making clients from it is not safe between threads.
    return boto3.session.Session().client("s3", config=config)


def _code(error: ClientError) -> str:
    code: str = error.response["Error"]["Code"]
    return code
