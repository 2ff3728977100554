import re
import threading

import pytest

from rankscope.agent.health import AgentHealth, measures


@pytest.mark.parametrize("measure", measures().values(), ids=lambda measure: measure.name)
def test_a_health_metric_follows_the_naming_rules(measure):
    assert re.fullmatch(r"rankscope_agent_[a-z_]+", measure.name)
    assert measure.name.endswith("_total") == (measure.kind == "counter")
    assert measure.help


def test_counts_of_many_threads_add_up():
    health = AgentHealth()

    def work():
        for _ in range(2000):
            health.count("datagrams_bad", "form")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert health.counted("datagrams_bad", "form") == 8000


def test_a_misspelt_name_or_a_missing_label_shows_at_once():
    health = AgentHealth()
    with pytest.raises(KeyError):
        health.count("datagrams_bat", "form")
    with pytest.raises(ValueError, match="labels"):
        health.count("datagrams_bad")
