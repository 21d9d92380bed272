"""Pheromone trails: weights that decay by the clock and are never touched by a daemon.

A weight decays as `w(t) = w0 * exp(-dt / TAU)`. It is kept by forward decay (Cormode, Shkapenyuk, Srivastava, Xu:
"Forward decay: a practical time decay model for streaming systems", 2009): each deposit of strength s at t adds
`s * exp((t - LANDMARK) / TAU)` to one number, and the weight is that sum times `exp(-(t - LANDMARK) / TAU)`. Deposits are
increments, so they commute and none is lost. The sum outgrows a double 709 TAU after the landmark, in October 2031;
before that the sums must be multiplied down once to a later landmark.
"""

from __future__ import annotations

import math

from am_server.times import SECOND

TAU = 72 * 3_600 * SECOND
"""Microseconds in which a weight falls to 1/e: one that began at 1 passes 0.1 after a week."""

LANDMARK = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z."""

FAINT = 0.1
"""The weight under which consolidation lets an old episode go."""


def deposit(strength: float, at: int) -> float:
    """What a deposit of this strength adds to a trail's sum; `at` in microseconds since 1970."""
    return strength * math.exp((at - LANDMARK) / TAU)


def weight(total: float, at: int) -> float:
    """The weight, at that time, of a trail with this sum."""
    return total * math.exp(-(at - LANDMARK) / TAU)
