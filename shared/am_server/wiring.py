"""The one place that reads settings and picks adapters; lazy, once per instance."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from am_server.times import Clock

if TYPE_CHECKING:
    from am_server.embed.port import Embedder
    from am_server.identity.accounts import Accounts
    from am_server.identity.tokens import SpaceTokens
    from am_server.objects.port import ObjectStore
    from am_server.store.port import DocumentStore
    from am_server.views.views import Views
