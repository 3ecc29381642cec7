"""One line of the table of formats: a small file and what must be read from it."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """`run` is None where the file must be refused, with `reason` in the refusal."""

    what: str
    name: str
    content: str | bytes
    format: str | None
    run: dict[str, Any] | None
    status: str = "to_confirm"
    runs: int = 1
    reason: str = ""
    warns: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def data(self) -> bytes:
        """The file's bytes."""
        return self.content if isinstance(self.content, bytes) else self.content.encode()
