"""The root of the REST interface."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class ApiRoot(APIView):
    """Names what can be called."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Links to the description of the interface."""
        return Response({name: request.build_absolute_uri(f"/api/{name}/") for name in ("schema", "docs")})
