"""Settings: what is read, from where, and what every mistake is answered with."""

import traceback
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field, SecretStr, field_validator, model_validator

from rankscope.settings import SettingsError, SettingsSection, keys, load
from rankscope.settings.errors import InnerError, InnerProblem


class Hook(SettingsSection):
    url: str
    secret: SecretStr | None = None


class Push(SettingsSection):
    endpoint: str = "http://127.0.0.1:8470"
    interval_seconds: float = Field(1.0, gt=0, le=60, description="time between two pushes")
    retries: int = 3
    headers: dict[str, str] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @field_validator("endpoint")
    @classmethod
    def _scheme(cls, endpoint: str) -> str:
        if "://" not in endpoint:
            raise ValueError("write the scheme too, as in http://HOST:8470")
        return endpoint


class Export(SettingsSection):
    dcgm_names: Literal["off", "old", "new", "both"] = "off"
    groups: bool = False


class Checked(SettingsSection):
    names: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _no_mistake(self) -> "Checked":
        wrong = [number for number, name in enumerate(self.names) if name == "wrong"]
        if wrong:
            problems = [InnerProblem(("names", one), "a wrong name", "rename it") for one in wrong]
            raise InnerError(problems)
        return self


class Root(SettingsSection):
    data_dir: Path = Path("rankscope-data")
    push: Push = Push()
    export: Export = Export()
    hooks: list[Hook] = Field(default_factory=list)
    checked: Checked = Checked()


class Strict(SettingsSection):
    name: str


@pytest.fixture
def settings(tmp_path):
    def read(text="", foreign=(), **environ):
        path = tmp_path / "agent.yaml"
        path.write_text(text)
        return load(Root, path=path, environ=environ, foreign=foreign)

    return read


@pytest.fixture
def refused(settings):
    def read(text="", **environ):
        with pytest.raises(SettingsError) as caught:
            settings(text, **environ)
        return str(caught.value)

    return read


def test_nothing_given_means_the_defaults():
    assert load(Root, path=None, environ={}) == Root()


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "push:\nexport:\n"])
def test_an_empty_file_or_section_means_the_defaults(settings, text):
    assert settings(text) == Root()


def test_the_file_is_read(settings):
    loaded = settings("push:\n  interval_seconds: 5\nhooks:\n  - url: http://a\n")
    assert loaded.push.interval_seconds == 5.0
    assert loaded.hooks == [Hook(url="http://a")]


def test_the_environment_wins_over_the_file_key_by_key(settings):
    loaded = settings(
        "push:\n  interval_seconds: 5\n  retries: 9\n", RANKSCOPE_PUSH__INTERVAL_SECONDS="2.5"
    )
    assert (loaded.push.interval_seconds, loaded.push.retries) == (2.5, 9)


def test_a_map_in_the_environment_replaces_the_one_in_the_file(settings):
    loaded = settings("push:\n  headers: {a: one}\n", RANKSCOPE_PUSH__HEADERS='{"b": "two"}')
    assert loaded.push.headers == {"b": "two"}


def test_lists_of_text_come_as_json_or_between_commas(settings):
    assert settings(RANKSCOPE_PUSH__TAGS="a, b").push.tags == ("a", "b")
    assert settings(RANKSCOPE_PUSH__TAGS='["a,b"]').push.tags == ("a,b",)


def test_lists_of_sections_come_as_json(settings):
    assert settings(RANKSCOPE_HOOKS='[{"url": "http://a"}]').hooks == [Hook(url="http://a")]


def test_top_level_keys_are_variables_without_a_section(settings):
    assert settings(RANKSCOPE_DATA_DIR="/d").data_dir == Path("/d")


def test_the_probes_variables_are_not_ours(settings):
    assert settings(RANKSCOPE_JOB_ID="x", RANKSCOPE_PUSH="1", RANKSCOPE_PROBE="0") == Root()


def test_variables_of_the_other_process_are_passed_over_in_the_environment(settings):
    assert settings(foreign=["journal"], RANKSCOPE_JOURNAL__MAX_BYTES="1") == Root()


def test_the_sections_of_the_other_process_are_unknown_in_the_file(tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text("journal: {}\n")
    with pytest.raises(SettingsError, match="journal: unknown key"):
        load(Root, path=path, environ={}, foreign=["journal"])


def test_off_and_no_are_words_not_booleans(settings):
    assert settings("export:\n  dcgm_names: off\n").export.dcgm_names == "off"


@pytest.mark.parametrize("text", ["1:30", "2024-01-01", "012", "0x10", "1_000", "yes", "=", ".inf"])
def test_what_only_yaml_1_1_takes_for_something_else_stays_text(settings, text):
    assert settings(f"push:\n  tags: [{text}]\n").push.tags == (text,)


def test_aliases_and_merge_keys_work(settings):
    loaded = settings("hooks:\n  - &first {url: http://a}\n  - {<<: *first}\n")
    assert loaded.hooks == [Hook(url="http://a")] * 2


def test_a_typo_names_line_key_and_the_key_that_was_meant(refused):
    assert refused("push:\n  endpont: x\n").endswith(
        "agent.yaml:2: push.endpont: unknown key; did you mean push.endpoint?"
    )


def test_a_key_like_no_other_is_answered_with_the_known_ones(refused):
    assert "zebra: unknown key; remove it; known keys here: data_dir, push" in refused("zebra: 1")


def test_a_typo_in_a_variable_names_the_variable_that_was_meant(refused):
    assert refused(RANKSCOPE_PUSH__ENDPONT="x") == (
        "RANKSCOPE_PUSH__ENDPONT: push.endpont: unknown key; did you mean RANKSCOPE_PUSH__ENDPOINT?"
    )


def test_a_typo_in_a_variables_section_keeps_its_key(refused):
    assert "did you mean RANKSCOPE_PUSH__RETRIES?" in refused(RANKSCOPE_PUHS__RETRIES="1")


def test_a_key_below_a_key_says_where_to_stop(refused):
    message = refused(RANKSCOPE_PUSH__RETRIES__X="1")
    assert "push.retries has no keys below it; set RANKSCOPE_PUSH__RETRIES" in message


def test_a_word_where_a_number_belongs_says_so(refused):
    message = refused("push:\n  interval_seconds: fast\n")
    assert "agent.yaml:2: push.interval_seconds: not accepted" in message
    assert message.endswith("write a number")


def test_a_number_out_of_range_is_shown_with_the_bound(refused):
    message = refused("push:\n  interval_seconds: 0\n")
    assert "push.interval_seconds: 0 is out of range; write a number above 0.0" in message
    message = refused(RANKSCOPE_PUSH__INTERVAL_SECONDS="61")
    assert "push.interval_seconds: 61 is out of range; write a number of at most 60.0" in message


def test_nan_and_inf_are_no_settings(refused):
    message = refused(RANKSCOPE_PUSH__INTERVAL_SECONDS="nan")
    assert "push.interval_seconds: not accepted" in message
    assert message.endswith("write a finite number")


def test_a_number_of_more_digits_than_python_reads_is_no_number(refused):
    text = "push:\n  interval_seconds: " + "9" * 5000 + "\n"
    assert "agent.yaml:2: push.interval_seconds: not accepted" in refused(text)


def test_a_fraction_where_a_whole_number_belongs_says_so(refused):
    assert refused("push:\n  retries: 1.5\n").endswith("write a whole number")


def test_a_word_outside_the_choice_lists_the_choice(refused):
    message = refused("export:\n  dcgm_names: sometimes\n")
    assert "export.dcgm_names: none of its values; write one of 'off', 'old', 'new'" in message


def test_neither_true_nor_false_says_so(refused):
    assert refused("export:\n  groups: perhaps\n").endswith("write true or false")


def test_a_number_where_text_belongs_asks_for_quotes(refused):
    message = refused("push:\n  tags: [5]\n")
    assert "push.tags.0: not accepted" in message
    assert "in quotes" in message


def test_text_where_a_list_belongs_says_so(refused):
    assert refused("push:\n  tags: a\n").endswith("write a list")


def test_text_where_a_section_belongs_says_so(refused):
    message = refused("push: fast\n", RANKSCOPE_PUSH__RETRIES="1")
    assert "agent.yaml:1: push: not accepted" in message
    assert message.endswith("write keys and values below it")


def test_a_sections_own_check_gives_its_own_fix(refused):
    assert refused("push:\n  endpoint: host\n").endswith(
        "push.endpoint: not accepted; write the scheme too, as in http://HOST:8470"
    )


def test_a_sections_check_that_knows_where_its_mistakes_stand_gets_the_line_of_each(refused):
    first, second = refused("checked:\n  names:\n  - wrong\n  - x\n  - wrong\n").splitlines()
    assert first.endswith("agent.yaml:3: checked.names.0: a wrong name; rename it")
    assert second.endswith("agent.yaml:5: checked.names.2: a wrong name; rename it")


def test_the_same_mistake_in_a_variable_names_the_variable(refused):
    message = refused(RANKSCOPE_CHECKED__NAMES="x, wrong")
    assert "RANKSCOPE_CHECKED__NAMES: checked.names.1: a wrong name; rename it" == message


def test_a_missing_key_names_file_and_variable():
    with pytest.raises(SettingsError) as caught:
        load(Strict, path=None, environ={})
    assert str(caught.value) == "name: missing; add name to the file or set RANKSCOPE_NAME"


def test_a_missing_key_in_a_list_names_its_item(refused):
    message = refused("hooks:\n  - url: a\n  - {}\n")
    assert message.endswith("agent.yaml:3: hooks.1.url: missing; add hooks.1.url to the file")


def test_an_object_that_is_no_json_shows_an_example(refused):
    assert 'write an object such as {"key": "value"}' in refused(RANKSCOPE_PUSH__HEADERS="a=b")


def test_a_list_of_sections_that_is_no_json_shows_an_example(refused):
    assert "RANKSCOPE_HOOKS: hooks: not a list in JSON" in refused(RANKSCOPE_HOOKS="{}")


def test_a_key_given_twice_names_both_lines(refused):
    assert refused("push:\n  retries: 1\n  retries: 2\n").endswith(
        "agent.yaml:3: push.retries: given twice, first on line 2; keep one of them"
    )


def test_a_list_at_the_top_says_what_a_file_looks_like(refused):
    assert "not a mapping of keys; write `section:`" in refused("- push\n")


def test_broken_yaml_names_the_line(refused):
    assert "agent.yaml:3: not YAML" in refused("push:\n  endpoint: 'x\n")


def test_values_that_lie_too_deep_are_refused(refused):
    assert "too deep" in refused("push: " + "[" * 4000 + "]" * 4000 + "\n")


def test_a_key_that_is_a_number_says_so(refused):
    assert "a key that is not text; write the key as a word" in refused("1: x\n")


def test_an_alias_inside_itself_is_refused(refused):
    assert "hooks.0: an anchor that contains itself" in refused("hooks: &a [*a]\n")


def test_a_tag_cannot_make_an_object(refused):
    assert "not YAML" in refused("push: !!python/object/apply:os.getcwd []\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"\xff", "utf-8"), (b"#" * (2 << 20), "bytes")],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, content, reason):
    path = tmp_path / "agent.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=rf"agent.yaml: cannot be read: .*{reason}"):
        load(Root, path=path, environ={})


def test_an_unreadable_file_is_the_only_complaint(tmp_path):
    with pytest.raises(SettingsError) as caught:
        load(Strict, path=tmp_path / "none.yaml", environ={})
    assert len(caught.value.problems) == 1


def test_every_mistake_is_told_at_once(refused):
    message = refused("push:\n  endpont: x\n  retries: many\nzebra: 1\n", RANKSCOPE_EXPORT__X="1")
    assert len(message.splitlines()) == 4


def test_no_text_that_was_given_is_ever_repeated(tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text(
        "push:\n  retries: hunter2\n  endpont: hunter2\n  interval_seconds: hunter2\n"
        "  tags: hunter2\nexport:\n  dcgm_names: hunter2\n  groups: hunter2\n"
        "hooks:\n  - url: [hunter2]\n    secret: [hunter2]\n"
    )
    environ = {"RANKSCOPE_PUSH__HEADERS": "hunter2", "RANKSCOPE_PUSH__X": "hunter2"}
    with pytest.raises(SettingsError) as caught:
        load(Root, path=path, environ=environ)
    assert len(caught.value.problems) == 10
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("text", ["a: 'hunter2\nb: 1\n", "a: hunter2: x\n", "a: *hunter2\n"])
def test_broken_yaml_is_not_quoted(refused, text):
    assert "hunter2" not in refused(text)


def test_a_secret_does_not_show_in_the_settings():
    assert "hunter2" not in repr(Hook(url="u", secret=SecretStr("hunter2")))


def test_settings_cannot_be_changed(settings):
    with pytest.raises(ValueError, match="frozen"):
        settings().push.retries = 4


def test_keys_lists_every_key_with_its_variable():
    listed = {key.dotted: key for key in keys(Root)}
    assert list(listed)[:3] == ["data_dir", "push.endpoint", "push.interval_seconds"]
    interval = listed["push.interval_seconds"]
    assert interval.variable == "RANKSCOPE_PUSH__INTERVAL_SECONDS"
    assert (interval.default, interval.required) == (1.0, False)
    assert interval.help == "time between two pushes"
    assert next(iter(keys(Strict))).required
