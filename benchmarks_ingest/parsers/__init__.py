"""Reading benchmark result files: bytes in, canonical runs and refusals out. Usable as a library, without Django."""

from .canonical import Run, SourceValue, run_from_json
from .decode import Document
from .protocol import Parser, ParseResult, Refusal
from .reading import FileReport, Limits, read
from .registry import ENTRY_POINT_GROUP, Registry, registry

__all__ = [
    "ENTRY_POINT_GROUP",
    "Document",
    "FileReport",
    "Limits",
    "ParseResult",
    "Parser",
    "Refusal",
    "Registry",
    "Run",
    "SourceValue",
    "read",
    "registry",
    "run_from_json",
]
