"""The known formats. Frozen at first use; the highest score reads a file; others can be added through the
entry-point group below.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import entry_points

from .decode import Document
from .protocol import Parser

ENTRY_POINT_GROUP = "rooftree.parsers"
MINIMUM_SCORE = 0.1


class Registry:
    """An ordered set of parsers with unique format names. After freeze() nothing can be added."""

    def __init__(self, parsers: Iterable[Parser] = ()) -> None:
        self._parsers: dict[str, Parser] = {}
        self._frozen = False
        for parser in parsers:
            self.register(parser)

    def register(self, parser: Parser) -> None:
        """Add a parser. Raises RuntimeError once frozen, TypeError for what is no parser, ValueError for a name
        already taken.
        """
        if self._frozen:
            raise RuntimeError("the parser registry is frozen")
        if not isinstance(parser, Parser):
            raise TypeError(f"{parser!r} is no parser: it needs format, score() and parse()")
        if parser.format in self._parsers:
            raise ValueError(f"two parsers are called {parser.format}")
        self._parsers[parser.format] = parser

    def freeze(self) -> "Registry":
        """Close the registry."""
        self._frozen = True
        return self

    def __iter__(self) -> Iterator[Parser]:
        return iter(self._parsers.values())

    def __len__(self) -> int:
        return len(self._parsers)

    def formats(self) -> list[str]:
        """The names of all formats."""
        return list(self._parsers)

    def get(self, name: str) -> Parser:
        """A parser by its format's name. Raises KeyError."""
        return self._parsers[name]

    def best(self, document: Document) -> Parser | None:
        """The parser with the highest score, the first registered among equals; None where nobody knows the
        document.
        """
        scored = [(parser.score(document), -order, parser) for order, parser in enumerate(self._parsers.values())]
        score, _, parser = max(scored, key=lambda entry: entry[:2])
        return parser if score >= MINIMUM_SCORE else None


@cache
def registry() -> Registry:
    """The frozen registry of built-in and installed parsers."""
    from .formats import BUILT_IN  # the formats import the protocol, which must not import them back

    built = Registry(BUILT_IN)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        built.register(entry.load()())
    return built.freeze()
