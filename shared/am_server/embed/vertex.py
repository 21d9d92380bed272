"""Vertex AI's text embeddings over REST, with the credentials of the environment.

https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from am_server.embed.batches import embed_in_batches
from am_server.embed.http import Patience, post
from am_server.embed.port import EmbedderUnavailable
from am_server.embed.tables import table_if_installed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from am_server.memory.wordtable import WordTable

MODEL = "text-embedding-005"
DIMENSION = 768

# The API takes 250 texts and 20,000 tokens a request, and reads 2,048 tokens of a text.
_MOST_TEXTS, _MOST_CHARS, _CUT_AT = 250, 18_000, 6_000

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class VertexEmbedder:
    """Vectors from Vertex AI."""

    pooled = False
    dimension = DIMENSION
    model_id = f"{MODEL}/{DIMENSION}"

    def __init__(
        self,
        project: str,
        location: str,
        base_url: str | None = None,
        token: Callable[[], str] | None = None,
        patience: Patience = Patience(),  # noqa: B008 (immutable)
    ) -> None:
        """`token` gives an access token; by default that of the ambient credentials."""
        root = base_url or f"https://{location}-aiplatform.googleapis.com"
        self._url = f"{root}/v1/projects/{project}/locations/{location}/publishers/google/models/{MODEL}:predict"
        self._token = token or AmbientToken().get
        self._patience = patience

    @property
    def table(self) -> WordTable | None:
        """The word table that widens queries, when it is installed."""
        return table_if_installed()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[len(texts), 768], each row of unit length, or zeros for a blank text. Raises EmbedderUnavailable."""
        return embed_in_batches(
            texts, self._fetch, dimension=self.dimension, most_texts=_MOST_TEXTS, most_chars=_MOST_CHARS, cut_at=_CUT_AT
        )

    def _fetch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # one kind of task for texts and queries, because the port does not tell them apart
        instances = [{"content": text, "task_type": "SEMANTIC_SIMILARITY"} for text in texts]
        headers = {"Authorization": f"Bearer {self._token()}"}
        answer = post("Vertex AI", self._url, {"instances": instances}, headers, self._patience)
        try:
            return np.array([item["embeddings"]["values"] for item in answer["predictions"]], np.float32)
        except (KeyError, TypeError, ValueError):
            raise EmbedderUnavailable("Vertex AI answered something else than vectors") from None


class AmbientToken:
    """Access tokens of the environment's Google credentials, renewed when they run out. Safe under threads."""

    def __init__(self) -> None:
        self._credentials: Any = None
        self._lock = Lock()

    def get(self) -> str:
        """A valid token. Raises EmbedderUnavailable when there are no credentials or they are refused."""
        import google.auth
        import google.auth.exceptions
        from google.auth.transport.requests import Request

        with self._lock:
            try:
                if self._credentials is None:
                    self._credentials, _ = google.auth.default(scopes=[_SCOPE])
                if not self._credentials.valid:
                    self._credentials.refresh(Request())
                return str(self._credentials.token)
            except google.auth.exceptions.GoogleAuthError:
                raise EmbedderUnavailable("Vertex AI needs Google credentials, and the environment has none that work") from None
