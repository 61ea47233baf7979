"""How slow readers report a bad line."""


class BadLineError(Exception):
    """A bad line; ``line`` counts from 1, None = the whole file."""

    def __init__(self, line: int | None) -> None:
        super().__init__(line)
        self.line = line
