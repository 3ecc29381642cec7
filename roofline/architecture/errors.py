"""What the reader of configurations raises: one type, so that a caller needs to catch one."""


class UnsupportedArchitecture(ValueError):
    """A configuration that cannot be turned into exact counts. `code` is stable, `message` is for people."""

    code = "unsupported_architecture"

    def __init__(self, message: str, *, fields: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields


class InvalidConfig(UnsupportedArchitecture):
    """A configuration whose values contradict themselves or are no dimensions at all."""

    code = "invalid_config"


class UnknownModel(UnsupportedArchitecture):
    """A name that no shipped configuration answers to, or several do; `nearest` are the names meant, best first."""

    code = "unknown_model"

    def __init__(self, message: str, *, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.nearest = nearest
