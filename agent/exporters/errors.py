"""Why a page of an exporter could not be had."""


class FetchError(Exception):
    """The page could not be had; `reason` is one word for counting, the text says why."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
