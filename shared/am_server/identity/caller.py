"""Who is calling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """What an account may do. None means without limit."""

    name: str
    monthly_ops: int | None
    agents: int | None
    spaces: int | None
    """Shared spaces that an agent's account may own; 0 means that the tier has no shared spaces."""
    a_star: bool
    hard_limit: bool
    """Whether calls beyond `monthly_ops` are refused (else they count as overage)."""


@dataclass(frozen=True, slots=True)
class SpaceGrant:
    """A verified space token: the spaces it names."""

    spaces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated agent. Everything it owns lives under `agents/{agent_uid}`."""

    account: str
    agent_uid: str
    agent_id: str
    tier: Tier
    key_id: str | None
    """None when a space token alone was presented."""
    grant: SpaceGrant | None = None
    token_fault: str | None = None
    """Why a token beside a good key was refused, e.g. `jwt_expired`; only the shared-space tools mind."""

    @property
    def did(self) -> str:
        """The agent's decentralised identifier: the same under each of its keys."""
        return f"did:fetch:{self.agent_uid}"
