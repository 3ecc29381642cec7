"""What a parser is: it scores a document by its beginning and turns it into runs and refusals."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from .canonical import Run
from .decode import Document


@dataclass(frozen=True)
class Refusal:
    """A part of a file that is no usable measurement, and why, in one sentence."""

    reason: str
    where: str = ""


@dataclass
class ParseResult:
    """What one file held. `notes` concern the whole file; `evidence` is what a monitor saw, to be attached to a run."""

    runs: list[Run] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    needs_confirmation: bool = False  # column meanings were guessed

    def add(self, outcome: "Run | Refusal") -> None:
        """Sort one outcome into runs or refusals."""
        if isinstance(outcome, Run):
            self.runs.append(outcome)
        else:
            self.refusals.append(outcome)

    @classmethod
    def refused(cls, reason: str) -> "ParseResult":
        """A recognised file that cannot be used."""
        return cls(refusals=[Refusal(reason)])


@runtime_checkable
class Parser(Protocol):
    """One file format. Stateless; both methods are pure functions of the document."""

    format: str

    def score(self, document: Document) -> float:
        """0 = not this format, 1 = certainly. Looks only at names, keys and the first lines; never raises."""
        ...

    def parse(self, document: Document) -> ParseResult:
        """Runs and refusals. May raise ValueError on content that contradicts the format."""
        ...
