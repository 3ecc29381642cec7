"""Whether this installation is ready to answer."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from config.access import open_view
from config.seeding import seeds_missing


def _problems() -> list[str]:
    """What keeps the installation from being ready, in the order of dependence."""
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return ["migrations are not applied"]
        return [f"data of {name} is not loaded" for name in seeds_missing()]
    except DatabaseError:
        return ["the database does not answer"]


@open_view
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, is migrated and holds the catalogues; else 503 with what is missing."""
    problems = _problems()
    return JsonResponse({"ready": not problems, "problems": problems}, status=503 if problems else 200)
