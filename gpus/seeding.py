"""Loads the shipped accelerators, their other names, links and node shapes."""

from collections.abc import Iterator
from pathlib import Path

from django.db import transaction

import roofline
from faces.names import plain
from faces.shipped import cell, csv_rows, shipped_rows_update
from gpus.models import COLUMNS, Gpu, GpuAlias, Link, NodeShape

SHIPPED = Path(roofline.__file__).parent / "data"
SPECIFICATIONS = SHIPPED / "gpus.csv"
LABELS = SHIPPED / "gpu_aliases.csv"
ALIASES = Path(__file__).parent / "data" / "aliases.csv"
DATA_FILES = [SPECIFICATIONS, LABELS, ALIASES]


def _gpu(row: dict[str, str]) -> Gpu:
    return Gpu(**{column: cell(Gpu, column, row[column]) for column in COLUMNS})


def _label_rows() -> list[dict[str, str]]:
    """Published labels, the surest last: a later one decides where the same label means several memory sizes."""
    rows = [row for row in csv_rows(LABELS) if row["gpu"] and row["slug"]]
    return sorted(rows, key=lambda row: (row["gpu_mem_gb"] == "", row["match"] == "exact", int(row["n_rows"])))


def _short_slugs(slugs: list[str]) -> Iterator[tuple[str, str]]:
    """Ids without their memory size, where that leaves one: h100-sxm5."""
    short: dict[str, list[str]] = {}
    for slug in slugs:
        head, _, tail = slug.rpartition("-")
        if head and tail.endswith("gb"):
            short.setdefault(head, []).append(slug)
    return ((head, found[0]) for head, found in short.items() if len(found) == 1)


def _aliases(gpus: dict[str, Gpu]) -> dict[str, tuple[str, str, bool]]:
    """Compared form to (name, id, approximate); of several the last, which is the list made by hand."""
    found = [(head, slug, False) for head, slug in _short_slugs(list(gpus))]
    found += [(gpu.name, slug, False) for slug, gpu in gpus.items()]
    found += [(row["gpu"], row["slug"], row["match"] != "exact") for row in _label_rows()]
    found += [(row["alias"], row["slug"], bool(row["approximate"])) for row in csv_rows(ALIASES)]
    return {plain(name): (name, slug, approximate) for name, slug, approximate in found if plain(name) not in gpus}


def _seed_aliases(gpus: dict[str, Gpu]) -> None:
    GpuAlias.objects.filter(owner=None).delete()
    taken = {plain(name) for name in GpuAlias.objects.values_list("name", flat=True)}
    GpuAlias.objects.bulk_create(
        GpuAlias(name=name, gpu=gpus[slug], approximate=approximate)
        for key, (name, slug, approximate) in _aliases(gpus).items()
        if key not in taken
    )


def _seed_nodes(gpus: dict[str, Gpu]) -> None:
    """Links and node shapes as the specification table states them."""
    NodeShape.objects.all().delete()
    Link.objects.all().delete()
    for gpu in gpus.values():
        if gpu.gpus_per_node_typical:
            NodeShape.objects.create(
                gpu=gpu,
                gpus=gpu.gpus_per_node_typical,
                link=_link(gpu),
                scale_up_domain=gpu.scale_up_domain_size or 1,
                network_gbps_per_gpu=gpu.internode_nic_gbps_per_gpu_typical,
            )


def _link(gpu: Gpu) -> Link | None:
    if not gpu.interconnect_bw_gbs_bidir_total:
        return None
    one_way = gpu.interconnect_bw_gbs_bidir_total / 2
    link, _made = Link.objects.get_or_create(
        name=gpu.interconnect, gbs_per_direction=one_way, defaults={"source": gpu.source_1}
    )
    return link


@transaction.atomic
def seed() -> str:
    """Load or refresh the shipped facts; returns a line about them."""
    shipped = [_gpu(row) for row in csv_rows(SPECIFICATIONS)]
    shipped_rows_update(Gpu, "slug", shipped, COLUMNS)
    gpus = {gpu.slug: gpu for gpu in Gpu.objects.filter(owner=None)}
    _seed_aliases(gpus)
    _seed_nodes(gpus)
    return f"{len(shipped)} accelerators, {GpuAlias.objects.count()} other names"
