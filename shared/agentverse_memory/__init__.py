"""Agentverse Memory: long-term memory for AI agents.

from agentverse_memory import Client

with Client() as memory:                 # AM_API_KEY and AM_BASE_URL from the environment
    memory.store_episode("Alice prefers simple analogies", metadata={"speaker": "Alice"})
    for hit in memory.search_episodes("how does Alice like explanations?")["results"]:
        print(hit["episode"]["content"])
"""

from agentverse_memory.client import AsyncClient, Client
from agentverse_memory.errors import (
    AgentverseMemoryError,
    AuthenticationError,
    ConflictError,
    ForbiddenError,
    NotConfiguredError,
    NotFoundError,
    RateLimitError,
    UnavailableError,
    ValidationError,
)

__version__ = "0.1.0"

__all__ = [
    "AgentverseMemoryError",
    "AsyncClient",
    "AuthenticationError",
    "Client",
    "ConflictError",
    "ForbiddenError",
    "NotConfiguredError",
    "NotFoundError",
    "RateLimitError",
    "UnavailableError",
    "ValidationError",
]
