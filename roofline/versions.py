"""When software was released, in years (2024.5): kernels get faster and memory habits change with it.

Dates of engine releases are those of their public release notes, to the month. A version that is not listed takes the
date of the
nearest lower one; a text that holds a date or a year-and-month container version (25.11) says its own.
"""

import math
import re

RELEASES: dict[str, tuple[tuple[tuple[int, int], float], ...]] = {
    "vllm": (
        ((0, 2), 2023.75),
        ((0, 3), 2024.1),
        ((0, 4), 2024.3),
        ((0, 5), 2024.5),
        ((0, 6), 2024.7),
        ((0, 7), 2025.1),
        ((0, 8), 2025.2),
        ((0, 9), 2025.4),
        ((0, 10), 2025.55),
        ((0, 11), 2025.75),
        ((0, 12), 2025.92),
        ((0, 14), 2026.05),
        ((0, 16), 2026.15),
        ((0, 17), 2026.2),
        ((0, 18), 2026.25),
        ((0, 19), 2026.33),
        ((0, 20), 2026.4),
        ((0, 21), 2026.47),
        ((0, 22), 2026.55),
    ),
    "sglang": (((0, 2), 2024.55), ((0, 3), 2024.7), ((0, 4), 2024.95), ((0, 5), 2025.6)),
    "tensorrt_llm": (
        ((0, 5), 2023.8),
        ((0, 8), 2024.15),
        ((0, 9), 2024.3),
        ((0, 14), 2024.85),
        ((0, 17), 2025.1),
        ((0, 20), 2025.45),
        ((1, 0), 2025.7),
        ((1, 1), 2025.9),
        ((1, 2), 2026.1),
        ((1, 3), 2026.3),
    ),
    "megatron": (((0, 3), 2023.3), ((0, 5), 2024.1), ((0, 10), 2025.1), ((0, 15), 2025.9)),
}
RELEASES["nemo"] = RELEASES["fsdp"] = ()
CONTAINER = re.compile(r"(?<![\d.])(2[0-9])\.(0[1-9]|1[0-2])(?!\d)")  # 25.11
DATE = re.compile(r"(?<!\d)(20[12]\d)(?:-?(0[1-9]|1[0-2]))?(?!\d*\.)")  # 2025-11, 2025
DOTTED = re.compile(r"(\d+)\.(\d+)")


def release_year(software: str, version: str | None) -> float:
    """Release date of `version` of `software` (codes.ENGINES or FRAMEWORKS), in years; nan where the text does not
    tell."""
    if not version:
        return math.nan
    for pattern, century in ((CONTAINER, 2000), (DATE, 0)):
        if found := pattern.search(version):
            return century + int(found[1]) + (int(found[2] or 6) - 0.5) / 12
    dotted = DOTTED.search(version)
    if not dotted:
        return math.nan
    number = (int(dotted[1]), int(dotted[2]))
    dates = [date for release, date in RELEASES.get(software, ()) if release <= number]
    return max(dates, default=math.nan)
