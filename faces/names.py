"""Finds a catalogue entry by what a person types: its id, the last part of the id where that is unique, or an alias."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from django.utils.translation import gettext as _

from roofline.errors import ScenarioError

MOST_NEAR = 5
MOST_TYPED = 200


class CatalogueNameError(ScenarioError):
    """A name that no entry has, or several have; `nearest` are ids that may have been meant."""

    def __init__(self, path: str, message: str, nearest: list[str], code: str) -> None:
        super().__init__({path: [message]})
        self.nearest = nearest
        self.code = code


def plain(name: str) -> str:
    """The form in which names are compared: lower case; blanks, underscores and hyphens alike."""
    return re.sub(r"[\s_-]+", "-", name.strip().casefold())


@dataclass(frozen=True)
class NameBook:
    """All names of one catalogue. `path` is the scenario's field, `what` says what an entry is."""

    path: str
    what: str
    ids: dict[str, str]
    others: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str, what: str, ids: Iterable[str], aliases: Mapping[str, str]) -> NameBook:
        """The book of `ids` and of `aliases` (alias to id)."""
        ids = list(ids)
        others: dict[str, set[str]] = {}
        for name in ids:
            if "/" in name:
                others.setdefault(plain(name.rpartition("/")[2]), set()).add(name)
        for alias, name in aliases.items():
            others[plain(alias)] = {name}  # an alias was chosen by a person: it decides over a last part
        return cls(
            path, what, {plain(name): name for name in ids}, {key: sorted(names) for key, names in others.items()}
        )

    def resolve(self, name: str) -> str:
        """The id that `name` means. Raises CatalogueNameError with the nearest ids for an unknown or ambiguous one."""
        found = self.matches(name)
        if len(found) == 1:
            return found[0]
        raise self._ambiguous(name, found) if found else self._unknown(name)

    def matches(self, name: str) -> list[str]:
        """The ids that `name` may mean; none for an unknown one, without a look for near names."""
        key = plain(name)
        if key in self.ids:
            return [self.ids[key]]
        return self.others.get(key) or self._run_together.get(key.replace("-", ""), [])

    @cached_property
    def _run_together(self) -> dict[str, list[str]]:
        """All names without their hyphens: rtx4090."""
        together: dict[str, set[str]] = {}
        for key in [*self.ids, *self.others]:
            together.setdefault(key.replace("-", ""), set()).update(self._targets(key))
        return {key: sorted(names) for key, names in together.items()}

    def nearest(self, name: str) -> list[str]:
        """Ids that look like `name`, the likeliest first."""
        key = plain(name[:MOST_TYPED])
        keys = [*self.ids, *self.others]
        inside = sorted((known for known in keys if key and key in known), key=len)
        close = difflib.get_close_matches(key, keys, n=3 * MOST_NEAR, cutoff=0.5)
        meant = (target for known in [*inside, *close] for target in self._targets(known))
        return list(dict.fromkeys(meant))[:MOST_NEAR]

    def _targets(self, key: str) -> list[str]:
        return [self.ids[key]] if key in self.ids else self.others[key]

    def _unknown(self, name: str) -> CatalogueNameError:
        near = self.nearest(name)
        message = _('There is no %(what)s "%(name)s".') % {"what": self.what, "name": name[:MOST_TYPED]}
        if near:
            message += " " + _("Did you mean %(names)s?") % {"names": ", ".join(near)}
        return CatalogueNameError(self.path, message, near, f"unknown_{self.path}")

    def _ambiguous(self, name: str, found: list[str]) -> CatalogueNameError:
        message = _('"%(name)s" may be any of %(names)s.') % {"name": name, "names": ", ".join(found)}
        return CatalogueNameError(self.path, message, found, f"ambiguous_{self.path}")
