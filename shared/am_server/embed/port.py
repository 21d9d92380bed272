"""The embedder as the service sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from am_server.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors. Vectors of different model ids never meet."""

    model_id: str
    """Names the model and its dimension, e.g. `text-embedding-3-small/1536`."""
    dimension: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[len(texts), dimension], each row of unit length (or all zeros for a text without content).

        Raises EmbedderUnavailable.
        """
        ...


class EmbedderUnavailable(Unavailable):
    """The provider did not answer, refused, or answered something else than vectors of the right size."""
