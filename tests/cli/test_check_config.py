"""`rankscope check-config`: whose file it is, and every mistake in it."""

import re
from pathlib import Path

import pytest
import yaml

from rankscope.cli.main import main
from rankscope.detectors import catalogue

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
DETECTORS = {detector.name for detector in catalogue.detectors()}


@pytest.fixture
def check(tmp_path, capsys):
    """Return a function that checks a text: (exit code, standard output, standard error)."""

    def run(text, *more):
        (tmp_path / "settings.yaml").write_text(text)
        code = main(["check-config", str(tmp_path / "settings.yaml"), *more])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize(
    ("text", "process"),
    [
        ("http:\n  listen: 127.0.0.1:8470\n", "collector"),
        ("push:\n  endpoint: http://127.0.0.1:8470\n", "agent"),
    ],
)
def test_it_finds_out_whose_settings_a_file_holds(check, text, process):
    code, out, _ = check(text)
    assert code == 0
    assert process in out


def test_every_mistake_is_named_with_its_key_and_fix(check):
    code, _, err = check("data_dr: x\nhttp:\n  listen: 8470\n")
    assert code == 1
    assert "data_dr" in err
    assert "did you mean data_dir" in err
    assert "http.listen" in err


def test_a_file_for_the_other_process_is_a_mistake_when_one_is_named(check):
    code, _, err = check("push:\n  endpoint: http://127.0.0.1:8470\n", "--for", "collector")
    assert code == 1
    assert "push" in err


def test_a_file_that_is_not_there_is_exit_1(tmp_path, capsys):
    assert main(["check-config", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "listen", ["8470", "127.0.0.1", "127.0.0.1:", ":8470", "127.0.0.1:99999", "127.0.0.1:http"]
)
def test_an_address_that_is_none_is_refused(check, listen):
    code, _, err = check(f'http:\n  listen: "{listen}"\n')
    assert code == 1
    assert "HOST:PORT" in err


@pytest.mark.parametrize(
    ("text", "process"),
    [
        ("pussh:\n  endpoint: http://127.0.0.1:8470\n", "agent"),
        ("push:\n  endpiont: http://127.0.0.1:8470\n", "agent"),
        ("push:\n  endpiont: a\n  tokenn: b\n  compresion: c\n", "agent"),
        ("node:\n  cluster: a\nprobe:\n  udp_lisen: 0.0.0.0:8471\n", "agent"),
        ("htp:\n  listen: 127.0.0.1:8470\n", "collector"),
        ("journal:\n  reread_minuts: 3\n", "collector"),
    ],
)
def test_a_misspelt_key_does_not_make_it_the_other_processes_file(check, text, process):
    code, _, err = check(text)
    assert code == 1
    assert f"checked for rankscope {process}" in err


def test_where_no_key_is_known_it_asks_whose_file_it_is(check):
    _, _, err = check("zzz: 1\n")
    assert "--for" in err


def detector_settings():
    """Yield (page, settings of detectors) of each example in the documentation.

    Blocks of YAML, and parameters within a line: {stragglers: {least: 0.15}}.
    """
    for page in PAGES:
        text, name = page.read_text("utf-8"), str(page.relative_to(ROOT))
        for block in re.findall(r"^```ya?ml\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            if re.search("^detectors:", block, re.MULTILINE):
                found = yaml.safe_load(block)["detectors"]
                found.pop("plugins", None)  # packages of the reader's own
                yield name, found
        for inline in re.findall(r"\{\w+: \{\w+: [^{}]*\}\}", text):
            parameters = yaml.safe_load(inline)
            if parameters.keys() <= DETECTORS:
                yield name, {"parameters": parameters}


def test_each_example_of_detector_settings_in_the_documentation_is_accepted(check):
    examples = list(detector_settings())
    pages = {page for page, _ in examples}
    assert {"docs/tune.md", "docs/reference/settings.md"} <= pages
    for page, settings in examples:
        code, _, err = check(yaml.safe_dump({"detectors": settings}), "--for", "collector")
        assert code == 0, f"{page}: {settings}: {err}"


def test_a_parameter_that_a_detector_does_not_have_is_named(check):
    text = "detectors:\n  parameters:\n    stragglers: {ratio: 1.2}\n"
    code, _, err = check(text, "--for", "collector")
    assert code == 1
    assert "stragglers" in err
    assert "ratio" in err


def test_every_mistake_in_the_detectors_is_named_with_its_own_line(check):
    _, _, err = check(
        """detectors:
  disabled: [cpu_time, straglers]
  parameters:
    stragglers:
      least: 0.1
      leest: 0.5
      seconds: abc
  rules:
    - jobs: rl-*
      disabled:
        - stals
      parameters:
        stalls: {lest: 3}
"""
    )
    where = re.findall(r"settings.yaml:(\d+): detectors\.(\S+):", err)
    assert [
        ("2", "disabled.1"),
        ("6", "parameters.stragglers.leest"),
        ("7", "parameters.stragglers.seconds"),
        ("11", "rules.0.disabled.0"),
        ("13", "rules.0.parameters.stalls.lest"),
    ] == where
    assert "seconds: must be a number, not text" in err
    assert "abc" not in err


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("stragglers: {least: -3}", "must be at least 0, not -3; the default is 0.08"),
        ("stragglers: {fewest: 2.5}", "must be a whole number, not 2.5"),
        ("stragglers: {fewest: true}", "must be a number, not a boolean"),
        ("idle_gpus: {price: cheap}", "must be a number of at least 0, or null, not text"),
    ],
)
def test_a_parameter_that_its_detector_cannot_have_is_refused(check, value, words):
    code, _, err = check(f"detectors: {{parameters: {{{value}}}}}\n")
    assert (1, True) == (code, words in err)


@pytest.mark.parametrize("value", ["stragglers: {fewest: 7.0, least: 1}", "idle_gpus: {price: 2}"])
def test_a_parameter_that_its_detector_can_have_is_taken(check, value):
    code, _, err = check(f"detectors: {{parameters: {{{value}}}}}\n")
    assert (0, "") == (code, err)
