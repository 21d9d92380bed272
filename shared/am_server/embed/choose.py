"""The embedder that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from am_server.embed.port import Embedder
from am_server.errors import NotConfigured

if TYPE_CHECKING:
    from am_server.wiring import Settings


def choose(settings: Settings) -> Embedder | None:
    """None for `AM_EMBEDDER=none`. Raises NotConfigured naming what the chosen one lacks."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "static":
        from am_server.embed.static import StaticEmbedder

        return StaticEmbedder()
    if settings.embedder == "minilm":
        from am_server.embed.minilm import MiniLmEmbedder

        return MiniLmEmbedder()
    if settings.embedder == "openai":
        from am_server.embed.openai import OpenAiEmbedder

        if not settings.openai_api_key:
            raise NotConfigured("OPENAI_API_KEY must be set when AM_EMBEDDER is openai")
        return OpenAiEmbedder(settings.openai_api_key, settings.openai_base_url)
    from am_server.embed.vertex import VertexEmbedder

    if not settings.project:
        raise NotConfigured("GOOGLE_CLOUD_PROJECT must be set when AM_EMBEDDER is vertex")
    return VertexEmbedder(settings.project, settings.location)
