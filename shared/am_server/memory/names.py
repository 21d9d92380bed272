"""Names of entities and edges, and the ids that follow from them.

An entity is its exact name and an edge its three exact parts, so their ids are computed, never looked up: storing the
same thing twice is one document, and no write has to read first. "Exact" is up to Unicode canonical equivalence (NFC),
which no reader can see. A second, folded form finds a name that was spelled a little differently.
"""

from __future__ import annotations

import json
import unicodedata
import uuid

_ENTITY = uuid.UUID("6b1d2f0e-3a53-5c0b-9a4d-0f3b8f1d7a10")
_EDGE = uuid.UUID("6b1d2f0e-3a53-5c0b-9a4d-0f3b8f1d7a11")
_PROCEDURE = uuid.UUID("6b1d2f0e-3a53-5c0b-9a4d-0f3b8f1d7a12")

MAX_NAME_BYTES = 1024
"""The longest name of an entity, a predicate or a procedure, in UTF-8."""


def exact(name: str) -> str:
    """The form in which a name is kept and compared: NFC."""
    return unicodedata.normalize("NFC", name)


def folded(name: str) -> str:
    """The form under which near spellings meet: NFKC, case folded, runs of white space as one blank.

    Folding can undo a composition and composing can make a letter that folds, hence twice (Unicode 16, D147).
    """
    once = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(unicodedata.normalize("NFKC", once.casefold()).split())


def entity_uuid(name: str) -> str:
    """The id of the entity with this name: an even UUID of version 5."""
    return _uuid(_ENTITY, exact(name), 0)


def edge_uuid(subject: str, predicate: str, object_: str) -> str:
    """The id of the edge with these parts: an odd UUID of version 5."""
    parts = [exact(subject), exact(predicate), exact(object_)]
    return _uuid(_EDGE, json.dumps(parts, ensure_ascii=False), 1)


def is_edge_uuid(id: str) -> bool:
    """Whether an id of version 5 is an edge's, not an entity's."""
    return bool(uuid.UUID(id).int & 1)


def procedure_uuid(name: str) -> str:
    """The id under which the newest version of the procedure with this name is found: a UUID of version 5."""
    return str(uuid.uuid5(_PROCEDURE, exact(name)))


def _uuid(namespace: uuid.UUID, text: str, parity: int) -> str:
    # the last bit tells an entity from an edge, so that a deposit on either need not read what it is
    id = uuid.uuid5(namespace, text)
    while id.int & 1 != parity:
        id = uuid.uuid5(id, text)
    return str(id)


def uuid_version(text: str) -> int | None:
    """The version of a UUID in its usual form of 36 characters; None for any other text."""
    if len(text) != 36 or text.count("-") != 4:
        return None
    try:
        return uuid.UUID(text).version
    except ValueError:
        return None
