"""What the API answers about priors."""

from pydantic import BaseModel


class Prior(BaseModel):
    """One fault's share of incidents (0 to 1): the catalogue's and the learnt one.

    `confirmed`: how many incidents people confirmed to have had this fault.
    """

    fault: str
    catalogue: float
    learnt: float
    confirmed: int


class Priors(BaseModel):
    """Every fault of the catalogue, by name.

    `incidents`: how many were confirmed of any fault. `strength`: how many incidents the
    catalogue's share is worth.
    """

    items: list[Prior]
    next_cursor: None = None
    incidents: int
    strength: float
