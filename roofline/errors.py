"""What can be wrong with a question: each error names the field and says what is allowed."""


class ScenarioError(ValueError):
    """A scenario that cannot be answered.

    `fields` maps a path ("parallelism.tp") to sentences; "" is the scenario as a whole.
    """

    code = "invalid"

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(
            "; ".join(f"{path}: {' '.join(faults)}" if path else " ".join(faults) for path, faults in fields.items())
        )
