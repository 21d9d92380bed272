"""The word table beside an embedder of another kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from am_server.embed.port import EmbedderUnavailable

if TYPE_CHECKING:
    from am_server.memory.wordtable import WordTable


def table_if_installed() -> WordTable | None:
    """The built-in word table, which then only widens queries; None where its package was left out."""
    from am_server.embed.static import word_table

    try:
        return word_table()
    except EmbedderUnavailable:
        return None
