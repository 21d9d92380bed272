"""The embedder as the service sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from am_server.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from am_server.memory.wordtable import WordTable


class Embedder(Protocol):
    """Turns texts into vectors. Vectors of different model ids never meet."""

    model_id: str
    """Names the model and its dimension, e.g. `text-embedding-3-small/1536`."""
    dimension: int

    pooled: bool
    """Whether a text's vector is pooled from those of its words in `table`: episodes' vectors then come from the index,
    no text is ever embedded, and nothing is stored."""

    @property
    def table(self) -> WordTable | None:
        """The word table that widens queries; None where there is none. Raises EmbedderUnavailable."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[len(texts), dimension], each row of unit length (or all zeros for a text without content).

        Raises EmbedderUnavailable.
        """
        ...


class EmbedderUnavailable(Unavailable):
    """The provider did not answer, refused, or answered something else than vectors of the right size."""
