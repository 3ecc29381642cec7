"""A scenario in, a prediction out: names become catalogue rows, rows engine values, and the answer carries the
versions it was made with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from costs.selectors import OFFER_TABLES, OfferBook, offer_book
from faces.stamps import stamps
from gpus.selectors import GPU_TABLES, GpuBook, gpu_book
from llms.selectors import MODEL_TABLES, ModelBook, model_book
from predictions import prices, versions
from predictions.selectors import calibration_active
from roofline import architecture, hardware
from roofline.architecture import Architecture, UnsupportedArchitecture
from roofline.calibration import Calibration
from roofline.errors import ScenarioError
from roofline.predict import predict as engine_predict
from roofline.question import Question
from roofline.scenario import Scenario, parse

Json = dict[str, Any]


@dataclass
class Gatherer:
    """Turns scenarios into questions against one moment's catalogue; keeps what it has read for the next scenario."""

    user: Any = None
    gpus: GpuBook = field(init=False)
    models: ModelBook = field(init=False)
    offers: OfferBook = field(init=False)
    sizes: dict[tuple[float, float | None], Architecture] = field(default_factory=dict)

    def __post_init__(self) -> None:
        of_gpus, of_models, of_offers = stamps(GPU_TABLES, MODEL_TABLES, OFFER_TABLES)
        self.gpus = gpu_book(self.user, stamp=of_gpus)
        self.models = model_book(self.user, stamp=of_models)
        self.offers = offer_book(self.user, stamp=of_offers)

    def question(self, raw: object) -> Question:
        """The question that the JSON `raw` asks. Raises ScenarioError."""
        scenario = parse(raw)
        faults: dict[str, list[str]] = {}
        model = self._attempt(faults, "model", self._architecture, scenario)
        gpu = self._attempt(faults, "gpu", self._gpu, scenario)
        if faults or model is None or gpu is None:
            raise ScenarioError(faults)
        question = Question(scenario, model, gpu)
        question.price = prices.price_of(scenario, gpu, self.offers, today=timezone.now().date())
        offered = question.price.source.get("gpu", gpu.slug) if question.price else gpu.slug
        if offered != gpu.slug:
            message = f"The offer is for {offered}, not for {gpu.slug}: its price is taken as it stands."
            question.warn("offer_of_other_gpu", "price.offer", message)
        return question

    @staticmethod
    def _attempt(faults: dict[str, list[str]], path: str, get: Any, scenario: Scenario) -> Any:
        try:
            return get(scenario)
        except ScenarioError as error:
            faults.update({path if key in ("", "name") else key: value for key, value in error.fields.items()})
        return None

    def _architecture(self, scenario: Scenario) -> Architecture:
        config = scenario.get("model_config")
        if config is not None:
            try:
                return architecture.parse(config, name=str(config.get("_name_or_path") or "model_config"))
            except UnsupportedArchitecture as error:
                raise ScenarioError({"model_config": [str(error)]}) from error
        total = scenario.get("model_size.params_b")
        if total is not None:
            size = (total, scenario.get("model_size.active_params_b"))
            if size not in self.sizes:
                self.sizes[size] = self._typical(*size)
            return self.sizes[size]
        return self.models.resolve(scenario.get("model"))

    @staticmethod
    def _typical(total: float, active: float | None) -> Architecture:
        try:
            return architecture.typical(total, active)
        except UnsupportedArchitecture as error:
            raise ScenarioError({"model_size.params_b": [f"No model has such a size: {error}"]}) from error

    def _gpu(self, scenario: Scenario) -> hardware.Gpu:
        spec = scenario.get("gpu_spec")
        if spec is None:
            return self._catalogue_gpu(scenario.get("gpu"))
        faults = _spec_faults(spec)
        if faults:
            raise ScenarioError(faults)
        try:
            return hardware.Gpu.from_spec(spec, slug="own")
        except hardware.HardwareError as error:
            raise ScenarioError({f"gpu_spec.{key}": value for key, value in error.fields.items()}) from error

    def _catalogue_gpu(self, name: str) -> hardware.Gpu:
        try:
            return self.gpus.resolve(name)
        except hardware.HardwareError as error:
            raise ScenarioError({"gpu": [f"{name} cannot be predicted: {error}"]}) from error


def _spec_faults(spec: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is no column of a GPU specification, or no plain value."""
    allowed = hardware.spec_columns()
    faults = {
        f"gpu_spec.{key}"[:200]: [f"Unknown column. Allowed here: {', '.join(allowed)}."]
        for key in spec
        if key not in allowed
    }
    nested = [key for key, value in spec.items() if isinstance(value, Mapping | list)]
    return faults | {f"gpu_spec.{key}"[:200]: ["Must be text or a number."] for key in nested}


def error_json(error: ScenarioError) -> Json:
    """The error object of CONTRACT's shape."""
    path, sentences = next(iter(error.fields.items()), ("", ["Invalid scenario."]))
    message = f"{path}: {sentences[0]}" if path else sentences[0]
    return {"error": {"code": error.code, "message": message, "fields": error.fields}}


def predict(scenario: object, *, user: Any = None, detail: bool = True) -> Json:
    """The prediction of one scenario. Raises ScenarioError."""
    gatherer = Gatherer(user)
    (answer,) = _answer(gatherer, [gatherer.question(scenario)], detail=detail)
    if isinstance(answer, ScenarioError):
        raise answer
    return answer


def predict_many(
    scenarios: Sequence[object], *, user: Any = None, detail: bool = True, calibrated: bool = True
) -> list[Json]:
    """Predictions in order; a scenario that cannot be answered gets an error object in its place. Not `calibrated`:
    as the shipped engine says, whatever calibration is active."""
    gatherer = Gatherer(user)
    asked = [_attempt(gatherer, raw) for raw in scenarios]
    good = [question for question in asked if isinstance(question, Question)]
    answers = iter(_answer(gatherer, good, detail=detail, calibrated=calibrated))
    found = [next(answers) if isinstance(question, Question) else question for question in asked]
    return [error_json(answer) if isinstance(answer, ScenarioError) else answer for answer in found]


def _attempt(gatherer: Gatherer, raw: object) -> Question | ScenarioError:
    try:
        return gatherer.question(raw)
    except ScenarioError as error:
        return error


def _answer(
    gatherer: Gatherer, questions: Sequence[Question], *, detail: bool, calibrated: bool = True
) -> list[Json | ScenarioError]:
    calibration = calibration_active(gatherer.user) if calibrated else None
    read = {"gpus": gatherer.gpus.stamp, "models": gatherer.models.stamp, "offers": gatherer.offers.stamp}
    stamp = versions.stamp(**read, calibration=calibration)
    answers = engine_predict(questions, calibration=_engine_calibration(calibration), detail=detail)
    for answer in answers:
        if isinstance(answer, dict):
            answer["versions"] = stamp
    return answers


def _engine_calibration(row: Any) -> Calibration | None:
    return row.engine_value() if row else None
