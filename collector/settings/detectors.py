"""Settings of the detectors: which run, with which parameters, for which jobs."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, model_validator

from ...detectors import catalogue
from ...detectors.rule_mistakes import Path, mistakes
from ...detectors.selection import DetectorSelection, SelectionError, SelectionRule, plugins
from ...settings import SettingsSection
from ...settings.errors import InnerError, InnerProblem


class RuleSettings(SettingsSection):
    """What is different for some jobs."""

    jobs: str = Field(default="*", description="Pattern of job names, such as llama-*")
    clusters: str = Field(default="*", description="Pattern of cluster names")
    disabled: tuple[str, ...] = Field(default=(), description="Detectors that do not run")
    parameters: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Parameters by detector: {stragglers: {least: 0.15}}"
    )

    def rule(self) -> SelectionRule:
        return SelectionRule(self.jobs, self.clusters, self.disabled, self.parameters)


class DetectorSettings(SettingsSection):
    """Which detectors evaluate which jobs; `rankscope replay --against` tries a change first."""

    plugins: tuple[str, ...] = Field(
        default=(),
        description="Detectors of installed packages to load, by the names of their entry points",
    )
    disabled: tuple[str, ...] = Field(default=(), description="Detectors that do not run")
    parameters: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Parameters by detector: {stragglers: {least: 0.15}}"
    )
    rules: tuple[RuleSettings, ...] = Field(
        default=(), description="What is different for some jobs or clusters; later ones win"
    )

    def selection(self) -> DetectorSelection:
        """Return the detectors by job. Raises SelectionError."""
        detectors = (*catalogue.detectors(), *plugins(self.plugins))
        everywhere = SelectionRule(disabled=self.disabled, parameters=self.parameters)
        rules = [rule.rule() for rule in self.rules]
        if self.disabled or self.parameters:
            rules.insert(0, everywhere)
        return DetectorSelection(detectors, rules)

    @model_validator(mode="after")
    def _selects(self) -> "DetectorSettings":
        if found := _of_plugins(self.plugins):
            # What the missing ones are called is not known, so no name in a rule can be refused.
            raise InnerError(found)
        detectors = (*catalogue.detectors(), *plugins(self.plugins))
        rules: list[tuple[Path, DetectorSettings | RuleSettings]] = [((), self)]
        rules += [(("rules", index), rule) for index, rule in enumerate(self.rules)]
        found = [
            InnerProblem((*above, *one.path), one.what, one.fix)
            for above, rule in rules
            for one in mistakes(detectors, rule.disabled, rule.parameters)
        ]
        if found:
            raise InnerError(found)
        return self


def _of_plugins(names: Sequence[str]) -> list[InnerProblem]:
    """Return what is wrong with each plugin beside those before it."""
    found: list[InnerProblem] = []
    loaded: list[str] = []
    for index, name in enumerate(names):
        try:
            plugins([*loaded, name])
        except SelectionError as error:
            fix = "install or correct it, or take it out of the list"
            found.append(InnerProblem(("plugins", index), str(error), fix))
        else:
            loaded.append(name)
    return found
