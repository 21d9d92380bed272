"""What an agent has stored and used, and how all of it is erased."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from am_server.errors import Invalid
from am_server.identity.memberships import erase_memberships
from am_server.times import SECOND, show
from am_server.tools.call import Call
from am_server.tools.registry import DESTROY, READ, Arguments, tool
from am_server.views.erasure import count_memory, erase_memory


class GetStats(Arguments):
    pass


class MemoryCounts(TypedDict):
    """How many of each kind are stored."""

    episode_count: int
    entity_count: int
    relation_count: int
    procedure_count: int
    working_count: int


class RateLimitStatus(TypedDict):
    """The quota as it stands; left out for a tier without limit."""

    remaining: int
    reset: str


class GetStatsResult(TypedDict):
    agent_id: str
    tier: str
    monthly_ops_used: int
    monthly_op_limit: NotRequired[int]
    rate_limit: NotRequired[RateLimitStatus]
    memory: MemoryCounts


@tool(
    toolset="utility",
    title="Get memory statistics",
    description="""How many episodes, entities, relations, procedures and working-memory items this agent has stored, the
    account's tier, and how much of the month's operations all agents of the account have used together.""",
    result=GetStatsResult,
    hints=READ,
    examples=[{}],
)
def memory_get_stats(call: Call, args: GetStats) -> dict[str, Any]:
    caller = call.caller
    counts = count_memory(call.store, caller.agent_uid, call.now)
    result: dict[str, Any] = {
        "agent_id": caller.agent_id,
        "tier": caller.tier.name,
        "monthly_ops_used": call.services.quota.used(caller),
        "memory": {f"{kind}_count": number for kind, number in counts.items()},
    }
    rate = call.services.quota.peek(caller)
    if rate.limit is not None and rate.remaining is not None:
        result["monthly_op_limit"] = rate.limit
        result["rate_limit"] = {"remaining": rate.remaining, "reset": show(rate.reset * SECOND)}
    return result


class DeleteAgent(Arguments):
    confirm: bool = Field(description="Must be true. Everything this agent remembers is erased and cannot be brought back.")


class DeleteAgentResult(TypedDict):
    agent_id: str
    deleted: Literal[True]
    erased: dict[str, int]
    note: str


@tool(
    toolset="utility",
    title="Erase all memory of this agent",
    description="""Erase everything this agent remembers: episodes, entities, relations, procedures, working memory, trails,
    indexes and its memberships in shared spaces. It cannot be undone; call it only when the user asked for exactly this. Keys
    stay valid and open an empty memory. Answers with a receipt of counts.""",
    result=DeleteAgentResult,
    hints=DESTROY,
)
def memory_delete_agent(call: Call, args: DeleteAgent) -> dict[str, Any]:
    if not args.confirm:
        raise Invalid("confirm", "must be true to erase all memory of this agent; nothing was erased")
    erased = erase_memory(call.store, call.services.objects, call.caller.agent_uid, call.now)
    erased["membership"] = erase_memberships(call.store, call.caller.agent_uid)
    call.views.forget(call.caller.agent_uid)
    return {
        "agent_id": call.caller.agent_id,
        "deleted": True,
        "erased": erased,
        "note": "The memory is erased for good. Keys of this agent stay valid; revoke them with DELETE /v1/keys/{key_id}.",
    }
