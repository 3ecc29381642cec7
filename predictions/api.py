"""Predictions over REST: one scenario answered at once, or a list in order."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from faces.errors import error_body
from faces.parsers import BoundedJSONParser
from predictions import services
from predictions.schema import PREDICTION, SCENARIO
from roofline.errors import ScenarioError


class ScenarioParser(BoundedJSONParser):
    """JSON in which NaN and Infinity are read, so that they are refused at their field and not as a broken body."""

    strict = False


def scenario_refusal(error: ScenarioError) -> Response:
    """400 with the fault at its field."""
    return Response(services.error_json(error), status=status.HTTP_400_BAD_REQUEST)


class PredictionsView(APIView):
    """One scenario, or a list of them."""

    stateless = True
    parser_classes = (ScenarioParser,)

    @extend_schema(
        request={"application/json": {"oneOf": [SCENARIO, {"type": "array", "items": SCENARIO}]}},
        responses={200: {"oneOf": [PREDICTION, {"type": "array", "items": PREDICTION}]}},
        operation_id="predict",
    )
    def post(self, request: Request) -> Response:
        """Predict. A list is answered in order, with an error object in the place of a scenario that cannot be
        answered."""
        if isinstance(request.data, list):
            return self._many(request.data, request.user)
        try:
            return Response(services.predict(request.data, user=request.user))
        except ScenarioError as error:
            return scenario_refusal(error)

    @staticmethod
    def _many(scenarios: list[Any], user: Any) -> Response:
        most = settings.ROOFTREE_MAX_SCENARIOS
        if len(scenarios) > most:
            message = f"A list holds at most {most:,} scenarios; this one has {len(scenarios):,}."
            return Response(error_body("too_many", message, {"": [message]}), status=status.HTTP_400_BAD_REQUEST)
        return Response(services.predict_many(scenarios, user=user))
