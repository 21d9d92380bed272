"""The names of one graph, numbered in order of appearance, and the ways to find one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from am_server.memory.names import entity_uuid, folded
from am_server.memory.tokens import read_tokens


class NameTable:
    """Names only ever join; a number keeps its meaning. What is derived from the names is made when first asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}
        self._by_id = _Derived(self.names, lambda name: [entity_uuid(name)])
        self._by_form = _Derived(self.names, lambda name: [folded(name)])
        self._by_term = _Derived(self.names, _terms)

    def __len__(self) -> int:
        return len(self.names)

    def add(self, name: str) -> int:
        """The number of a name, a new one when it is new. Callers take turns."""
        number = self._number.get(name)
        if number is None:
            self.names.append(name)
            number = self._number[name] = len(self.names) - 1
        return number

    def exactly(self, name: str) -> int | None:
        """The number of this very name."""
        return self._number.get(name)

    def by_id(self, uuid: str) -> int | None:
        """The number of the name whose entity has this id."""
        return next(iter(self._by_id.having(uuid)), None)

    def nearly(self, name: str) -> int | None:
        """The number of the first name that folds to the same form."""
        return next(iter(self._by_form.having(folded(name))), None)

    def with_term(self, term: str) -> Sequence[int]:
        """The numbers of the names that hold an index term."""
        return self._by_term.having(term)

    def terms_of(self, number: int) -> Sequence[str]:
        """The index terms of a name."""
        return _terms(self.names[number])

    def term_counts(self) -> Sequence[int]:
        """For each name how many index terms it has."""
        return self._by_term.counts()


def _terms(name: str) -> list[str]:
    # function words included, because a name may be nothing else: "The Who", "To be, or not to be"
    return list(dict.fromkeys(token.term for token in read_tokens(name, every_character=True)))


class _Derived:
    """Keys of names, computed for the names that joined since the last question."""

    def __init__(self, names: Sequence[str], keys: Callable[[str], list[str]]) -> None:
        self._names = names
        self._keys = keys
        self._numbers: dict[str, list[int]] = {}
        self._counts: list[int] = []
        self._lock = Lock()

    def having(self, key: str) -> Sequence[int]:
        with self._lock:
            self._catch_up()
            return tuple(self._numbers.get(key, ()))

    def counts(self) -> Sequence[int]:
        with self._lock:
            self._catch_up()
            return tuple(self._counts)

    def _catch_up(self) -> None:
        for number in range(len(self._counts), len(self._names)):
            keys = self._keys(self._names[number])
            for key in keys:
                self._numbers.setdefault(key, []).append(number)
            self._counts.append(len(keys))
