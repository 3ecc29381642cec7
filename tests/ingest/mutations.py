"""Damage as it happens to files: cut, torn, doubled, flipped, re-encoded. Deterministic for a seed."""

import io
import random
import zipfile

from .serving_cases import CASES as SERVING
from .training_cases import CASES as TRAINING

Seed = tuple[bytes, str]
CASES = [*SERVING, *TRAINING]
SEEDS: list[Seed] = [(case.data(), case.name) for case in CASES]


def _archive() -> Seed:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for index, case in enumerate(CASES[:12]):
            archive.writestr(f"runs/{index}_{case.name}", case.data())
    return stream.getvalue(), "runs.zip"


SEEDS.append(_archive())
ODD = [
    b"NaN",
    b"Infinity",
    b"-1",
    b"0",
    b"null",
    b"[]",
    b"{}",
    b'"inf"',
    b"1e400",
    b"true",
    b"-0.00",
    b'""',
    b"N/A",
    b"\xef\xbb\xbf",
    b"\x00",
]


def mutated(seed: Seed, number: int) -> Seed:
    """One to four kinds of damage done to a file."""
    chance = random.Random(number)
    data, name = seed
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(DAMAGES)(data, chance)
    return data, name


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _gap(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randrange(200) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    place = chance.randrange(len(data))
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def _odd_number(data: bytes, chance: random.Random) -> bytes:
    """A number somewhere becomes something odd."""
    digits = [index for index, byte in enumerate(data) if 48 <= byte <= 57]
    if not digits:
        return data
    place = chance.choice(digits)
    end = place
    while end < len(data) and data[end : end + 1] in b"0123456789.":
        end += 1
    return data[:place] + chance.choice(ODD) + data[end:]


def _swap_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _double(data: bytes, chance: random.Random) -> bytes:
    return data + chance.choice([b"", b"\n", b","]) + data


def _windows(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _wide(data: bytes, chance: random.Random) -> bytes:
    return data.decode("utf-8", errors="replace").encode("utf-16")


DAMAGES = (_cut, _gap, _flip, _odd_number, _odd_number, _swap_lines, _double, _windows, _wide)
