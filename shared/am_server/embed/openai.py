"""OpenAI's text-embedding-3-small, or any server that speaks its embeddings API, over plain HTTPS.

https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from am_server.embed.batches import embed_in_batches
from am_server.embed.http import Patience, post
from am_server.embed.port import EmbedderUnavailable
from am_server.embed.tables import table_if_installed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from am_server.memory.wordtable import WordTable

MODEL = "text-embedding-3-small"
DIMENSION = 1_536

# The API takes 2,048 texts and 300,000 tokens a request, and 8,192 tokens a text; a token is hardly ever less than a character.
_MOST_TEXTS, _MOST_CHARS, _CUT_AT = 512, 200_000, 6_000


class OpenAiEmbedder:
    """Vectors from an OpenAI-compatible server."""

    pooled = False

    def __init__(
        self,
        api_key: str,
        base_url: str,
        model: str = MODEL,
        dimension: int = DIMENSION,
        patience: Patience = Patience(),  # noqa: B008 (immutable)
    ) -> None:
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._model = model
        self._patience = patience
        self.dimension = dimension
        self.model_id = f"{model}/{dimension}"

    @property
    def table(self) -> WordTable | None:
        """The word table that widens queries, when it is installed."""
        return table_if_installed()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[len(texts), dimension], each row of unit length, or zeros for a blank text. Raises EmbedderUnavailable."""
        return embed_in_batches(
            texts, self._fetch, dimension=self.dimension, most_texts=_MOST_TEXTS, most_chars=_MOST_CHARS, cut_at=_CUT_AT
        )

    def _fetch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        body = {"model": self._model, "input": list(texts), "encoding_format": "base64"}
        answer = post("the OpenAI embeddings API", self._url, body, self._headers, self._patience)
        try:
            items = sorted(answer["data"], key=lambda item: int(item["index"]))
            return np.array([_vector(item["embedding"]) for item in items], np.float32)
        except (KeyError, TypeError, ValueError):
            raise EmbedderUnavailable("the OpenAI embeddings API answered something else than vectors") from None


def _vector(embedding: Any) -> NDArray[np.float32]:
    """Base64 of little-endian floats as asked for, or a list of numbers, which some compatible servers always send."""
    import numpy as np

    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.array(embedding, np.float32)
