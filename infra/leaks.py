"""Looking for secrets in a log."""

from __future__ import annotations

import re
from collections.abc import Iterable

FORMS = {
    "an API key": re.compile(r"am_[A-Za-z0-9_-]{20,}"),
    "a JSON web token": re.compile(r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    "a bearer credential": re.compile(r"(?i)bearer\s+[A-Za-z0-9._~+/=-]{16,}"),
}

PART = 12
"""So many characters of a secret in a row are a leak too."""


def leaks(text: str, secrets: Iterable[str] = ()) -> list[str]:
    """What a text shows that it must not: anything of the form of a credential, and these secrets in whole or in part.

    Secrets shorter than PART characters are looked for as a whole. The answer describes a leak without repeating it.
    """
    found = [f"{name} at {match.start()}" for name, form in FORMS.items() for match in form.finditer(text)]
    for number, secret in enumerate(secrets):
        parts = {secret[i : i + PART] for i in range(max(1, len(secret) - PART + 1))} if secret else set()
        found += [f"secret {number} at {text.index(part)}" for part in parts if part in text][:1]
    return found
