"""The one place that reads settings and picks adapters; lazy, once per instance."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

from am_server.errors import NotConfigured
from am_server.times import Clock

if TYPE_CHECKING:
    from am_server.embed.port import Embedder
    from am_server.identity.accounts import Accounts
    from am_server.identity.caller import Tier
    from am_server.identity.quota import Quota
    from am_server.identity.tokens import SpaceTokens
    from am_server.objects.port import ObjectStore
    from am_server.rest.projects import Projects
    from am_server.store.port import DocumentStore
    from am_server.views.views import Views

SETTINGS: Mapping[str, str] = {
    "AM_STORE": "document store: sqlite (default) or firestore",
    "AM_OBJECTS": "object store: directory (default), gcs or s3",
    "AM_DATA_DIR": "folder of the SQLite file and of the directory object store; .data by default",
    "AM_BUCKET": "bucket of the gcs and s3 object stores",
    "AM_EMBEDDER": "static (default), minilm, openai, vertex or none",
    "AM_FUSION": "weighted (default) or rrf",
    "AM_TIERS": "the tier table as JSON; built in by default",
    "AM_SIGNUP_TIERS": "tiers that anybody may sign up for, comma-separated; explorer by default",
    "AM_SIGNUP_PER_HOUR": "sign-ups a client address may make in an hour; 20 by default, 0 for no limit",
    "AM_ADMIN_TOKEN": "bearer token that opens accounts of any tier; nobody can when unset",
    "AM_KEY_PEPPER": "secret under which key hashes are made; required",
    "AM_AUTH_HEADER": "header that carries the caller's bearer credential behind a gateway; Authorization by default",
    "AM_ALLOWED_ORIGINS": "web origins that may call, comma-separated; only local ones by default",
    "AM_ANONYMOUS_REST": "1 lets /api/v2 be used without a key, in one shared account; off by default",
    "JWT_SECRET": "secrets of space tokens, comma-separated; the first signs, all verify",
    "OPENAI_API_KEY": "key of the openai embedder",
    "OPENAI_BASE_URL": "a server that speaks OpenAI's embeddings API; OpenAI's own by default",
    "LOG_LEVEL": "DEBUG, INFO (default), WARNING or ERROR",
    "GOOGLE_CLOUD_PROJECT": "project of Firestore, of the bucket and of the vertex embedder",
    "GOOGLE_CLOUD_LOCATION": "region of the vertex embedder; us-central1 by default",
    "FIRESTORE_DATABASE": "name of the Firestore database; (default) by default",
    "FIRESTORE_EMULATOR_HOST": "host:port of a Firestore emulator",
    "STORAGE_EMULATOR_HOST": "URL of a Cloud Storage emulator",
}
"""Every environment variable that the service reads, and what it is for."""

OF_CLIENTS = frozenset({"AM_API_KEY", "AM_BASE_URL"})
"""Variables of those who call a service, who may have started it from the same shell."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The environment, parsed once."""

    store: str
    objects: str
    data_dir: Path
    bucket: str
    embedder: str
    fusion: str
    tiers: str
    signup_tiers: frozenset[str]
    signup_per_hour: int
    admin_token: str
    key_pepper: str
    auth_header: str
    allowed_origins: frozenset[str]
    anonymous_rest: bool
    jwt_secrets: tuple[str, ...]
    openai_api_key: str
    openai_base_url: str
    log_level: str
    project: str
    location: str
    database: str

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Settings:
        """Raises NotConfigured naming the variable that cannot be used. Unknown `AM_*` variables are logged."""
        for name in sorted(environment):
            if name.startswith("AM_") and name not in SETTINGS and name not in OF_CLIENTS:
                logging.getLogger("am_server").warning("unknown setting %s is ignored", name)

        def choice(name: str, *choices: str) -> str:
            value = environment.get(name) or choices[0]
            if value not in choices:
                raise NotConfigured(f"{name} must be one of {', '.join(choices)}")
            return value

        def words(name: str, default: str = "") -> tuple[str, ...]:
            return tuple(word.strip() for word in environment.get(name, default).split(",") if word.strip())

        per_hour = environment.get("AM_SIGNUP_PER_HOUR") or "20"
        if not per_hour.isdecimal():
            raise NotConfigured("AM_SIGNUP_PER_HOUR must be a whole number; 0 means no limit")
        return cls(
            store=choice("AM_STORE", "sqlite", "firestore"),
            objects=choice("AM_OBJECTS", "directory", "gcs", "s3"),
            data_dir=Path(environment.get("AM_DATA_DIR") or ".data"),
            bucket=environment.get("AM_BUCKET", ""),
            embedder=choice("AM_EMBEDDER", "static", "minilm", "openai", "vertex", "none"),
            fusion=choice("AM_FUSION", "weighted", "rrf"),
            tiers=environment.get("AM_TIERS", ""),
            signup_tiers=frozenset(words("AM_SIGNUP_TIERS", "explorer")),
            signup_per_hour=int(per_hour),
            admin_token=environment.get("AM_ADMIN_TOKEN", ""),
            key_pepper=environment.get("AM_KEY_PEPPER", ""),
            auth_header=environment.get("AM_AUTH_HEADER") or "Authorization",
            allowed_origins=frozenset(words("AM_ALLOWED_ORIGINS")),
            anonymous_rest=choice("AM_ANONYMOUS_REST", "0", "1") == "1",
            jwt_secrets=words("JWT_SECRET"),
            openai_api_key=environment.get("OPENAI_API_KEY", ""),
            openai_base_url=environment.get("OPENAI_BASE_URL") or "https://api.openai.com/v1",
            log_level=choice("LOG_LEVEL", "INFO", "DEBUG", "WARNING", "ERROR"),
            project=environment.get("GOOGLE_CLOUD_PROJECT", ""),
            location=environment.get("GOOGLE_CLOUD_LOCATION") or "us-central1",
            database=environment.get("FIRESTORE_DATABASE") or "(default)",
        )


Made = TypeVar("Made")


class _Lazy(Generic[Made]):
    """An attribute that is made when first used, once, even when threads race for it."""

    def __init__(self, make: Callable[[Services], Made]) -> None:
        self._make = make
        self._name = make.__name__

    def __get__(self, services: Services, owner: type) -> Made:
        with services.lock:
            if self._name not in services.__dict__:
                services.__dict__[self._name] = self._make(services)
            made: Made = services.__dict__[self._name]
            return made


class Services:
    """What an instance works with. Nothing is opened, and no heavy module imported, before it is used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = Clock()
        self.lock = RLock()

    @_Lazy
    def store(self) -> DocumentStore:
        from am_server.store.metered import MeteredStore

        settings = self.settings
        if settings.store == "firestore":
            from am_server.store.firestore import FirestoreStore

            return MeteredStore(FirestoreStore(settings.project or None, settings.database))
        from am_server.store.sqlite import SqliteStore

        return MeteredStore(SqliteStore(settings.data_dir / "am-server.sqlite"))

    @_Lazy
    def objects(self) -> ObjectStore:
        from am_server.objects.metered import MeteredObjects

        return MeteredObjects(_open_objects(self.settings))

    @_Lazy
    def embedder(self) -> Embedder | None:
        from am_server.embed.choose import choose

        return choose(self.settings)

    @_Lazy
    def views(self) -> Views:
        from am_server.views.views import Views

        return Views(self.store, self.objects, self.embedder, self.clock, self.settings.fusion)

    @_Lazy
    def tiers(self) -> Mapping[str, Tier]:
        from am_server.identity.tiers import read_tiers

        return read_tiers(self.settings.tiers)

    @_Lazy
    def accounts(self) -> Accounts:
        from am_server.identity.accounts import Accounts

        if not self.settings.key_pepper:
            raise NotConfigured("AM_KEY_PEPPER is unset; set it to a long random secret and keep it")
        return Accounts(lambda: self.store, self.settings.key_pepper, self.tiers, self.clock, self.tokens)

    @_Lazy
    def quota(self) -> Quota:
        from am_server.identity.quota import Quota

        quota = Quota(self.store, self.clock)
        atexit.register(quota.give_back)
        return quota

    @_Lazy
    def projects(self) -> Projects:
        from am_server.rest.projects import Projects
        from am_server.views.erasure import erase_memory

        def erase(uid: str) -> None:
            erase_memory(self.store, self.objects, uid, self.clock.now())

        return Projects(self.store, self.clock, erase)

    @_Lazy
    def tokens(self) -> SpaceTokens:
        from am_server.identity.tokens import SpaceTokens

        return SpaceTokens(self.settings.jwt_secrets, self.clock)


@cache
def services() -> Services:
    """This instance's services, from this process's environment."""
    return Services(Settings.read(os.environ))


def _open_objects(settings: Settings) -> ObjectStore:
    if settings.objects == "directory":
        from am_server.objects.directory import DirectoryStore

        return DirectoryStore(settings.data_dir / "objects")
    if not settings.bucket:
        raise NotConfigured(f"AM_BUCKET must name the bucket when AM_OBJECTS is {settings.objects}")
    if settings.objects == "gcs":
        from am_server.objects.gcs import GcsStore

        return GcsStore(settings.bucket)
    from am_server.objects.s3 import S3Store

    return S3Store(settings.bucket)
