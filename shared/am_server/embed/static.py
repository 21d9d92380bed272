"""The built-in embedder: WordLlama's word table, read from the installed package without importing it.

The table is loaded when first asked for, once a process. https://github.com/dleemiller/WordLlama (MIT).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from am_server.embed.port import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from am_server.memory.wordtable import WordTable

DIMENSION = 256
MODEL_ID = f"wordllama-l2-supercat/{DIMENSION}"


class StaticEmbedder:
    """Texts as the mean of their words' vectors: no network, and no model to run."""

    model_id = MODEL_ID
    dimension = DIMENSION
    pooled = True

    @property
    def table(self) -> WordTable:
        """The word table. Raises EmbedderUnavailable when the wordllama package is not installed."""
        return word_table()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[len(texts), 256], each row of unit length, or zeros for a text without a known word."""
        from am_server.memory.wordtable import pool

        return pool(texts, word_table())


@lru_cache(maxsize=1)
def word_table() -> WordTable:
    """This process's word table. Raises EmbedderUnavailable when the wordllama package is not installed."""
    from safetensors import safe_open
    from tokenizers import Tokenizer

    from am_server.memory.wordtable import WordTable, lexicon_of

    root = _package_folder()
    tokenizer: Any = Tokenizer.from_file(str(root / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    with safe_open(root / "weights" / "l2_supercat_256.safetensors", "np") as file:
        table = file.get_tensor("embedding.weight")

    def split(words: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch(list(words), add_special_tokens=False)]

    return WordTable(table, lexicon_of(tokenizer.get_vocab()), split)


def _package_folder() -> Path:
    spec = find_spec("wordllama")  # finds the files; importing the package would load far more than its table
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable("the wordllama package is not installed; install it or set AM_EMBEDDER=none")
    return Path(spec.submodule_search_locations[0])
