"""What every test may ask for: real programs of the machine, and the incident's schema."""

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from typing import Any

import jsonschema
import pytest

from rankscope.vocabulary import incident_schema


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Return a finder of real programs by name: `program("chromium")` is its path.

    Where the program is absent the test is skipped, saying so. With RANKSCOPE_EVERY_PART set, as
    .ci/run sets it, nothing may be skipped and the test fails.
    """

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None and os.environ.get("RANKSCOPE_EVERY_PART"):
            pytest.fail(f"{name} is not installed, and .ci/run installs every part")
        if path is None:
            pytest.skip(f"{name} is not installed; .ci/run installs it")
        return path

    return find


@pytest.fixture(scope="session")
def valid_incident() -> Callable[[dict[str, Any]], None]:
    """Return a function that raises ValidationError where an incident document breaks its schema.

    jsonschema checks times only with a package more; these few lines do it instead.
    """
    formats = jsonschema.FormatChecker()

    @formats.checks("date-time", raises=ValueError)
    def has_date_time_and_zone(text: object) -> bool:
        return not isinstance(text, str) or datetime.fromisoformat(text).tzinfo is not None

    validator = jsonschema.Draft202012Validator(incident_schema.schema(), format_checker=formats)
    validate: Callable[[dict[str, Any]], None] = validator.validate
    return validate
