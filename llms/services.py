"""Acts on language models: size a configuration, add or change a model."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from llms.models import LanguageModel
from roofline.architecture import UnsupportedArchitecture, parse

LARGEST_CONFIG = 1_000_000  # characters; published ones stay far below


def config_read(text: str) -> dict[str, Any]:
    """A pasted or uploaded config.json as an object. Raises ValidationError (field `config`) for anything else."""
    if len(text) > LARGEST_CONFIG:
        raise ValidationError({"config": [_("This is longer than any config.json: 1 MB is the most that is read.")]})
    if text.lstrip().startswith("<"):
        raise ValidationError(
            {"config": [_("This is a web page, not a config.json: open the raw file and copy that.")]}
        )
    try:
        config = json.loads(text, parse_constant=str)  # published files hold Infinity, which no database takes as JSON
    except (ValueError, RecursionError) as error:
        raise ValidationError({"config": [_("This is not JSON: %(why)s") % {"why": str(error)}]}) from error
    if not isinstance(config, dict):
        raise ValidationError({"config": [_("A config.json is an object with keys.")]})
    return config


def model_size(model: LanguageModel) -> None:
    """Fill in what follows from the configuration, or why nothing does."""
    try:
        architecture = parse(model.config, name=model.name)
    except UnsupportedArchitecture as error:
        _forget_sizes(model, error)
        return
    model.refusal = ""
    model.family = architecture.model_type
    model.total_params = architecture.total_params
    model.active_params = architecture.active_params
    model.kv_bytes_per_token = architecture.kv_bytes_per_token
    model.summary = {**architecture.summary(), "parts": architecture.parts(), "layers": architecture.layers}
    model.warnings = [str(warning) for warning in architecture.warnings]


def _forget_sizes(model: LanguageModel, error: UnsupportedArchitecture) -> None:
    model.refusal = str(error)
    model.family = str(model.config.get("model_type", ""))[:60]
    model.total_params = model.active_params = model.kv_bytes_per_token = None
    model.summary, model.warnings = {}, []


def model_save(*, model: LanguageModel, user: Any = None) -> LanguageModel:
    """Size, check and store a model. Raises ValidationError when its configuration cannot be sized."""
    model_size(model)
    if model.refusal:
        raise ValidationError({"config": [model.refusal]})
    if model._state.adding:
        model.owner = user if getattr(user, "is_authenticated", False) else None
    model.full_clean()
    model.save()
    return model
