"""The text for people: what broke, where, how sure, what to do, what it costs."""

from hypothesis import given
from hypothesis import strategies as st

from rankscope.alerts.notify import plain, wording
from rankscope.alerts.ports import OutboxNotice


def test_an_open_incident_is_described_from_what_broke_to_where_to_look(new_notice):
    assert wording.text(new_notice()).lines == [
        "Rankscope CRITICAL: Switch fault: switch leaf-3",
        "What: Switch fault: switch leaf-3; 64 ranks wait in all_reduce for 31 s",
        "Job: run-1, attempt 2 (cluster c1)",
        "How sure: medium confidence, probability 93%; next: Network congestion, job run-1",
        "Do now: drain the hosts under leaf-3: scontrol update state=drain",
        "Check next: read the uplinks' counters: ibqueryerrors",
        "Cost: 64 ranks on 8 hosts, training is stopped, 5.3 GPU-hours lost so far",
        "Since: 2023-11-14 22:13:20 UTC",
        "Runbook: https://rankscope.example/#/runbooks/x",
        "Incident: a1000000000000000000",
    ]
    assert "https://rankscope.example/#/incidents/a1000000000000000000" == (
        wording.text(new_notice()).link
    )


def test_a_resolved_incident_says_how_long_and_what_it_cost_and_asks_for_nothing(new_notice):
    text = wording.text(new_notice("resolved"))
    assert "Rankscope RESOLVED: Switch fault: switch leaf-3" == text.title
    assert "resolved" == text.level
    assert ("Lasted", "10 min, from 2023-11-14 22:13:20 UTC") in text.rows
    assert {"Do now", "Check next", "How sure"}.isdisjoint(label for label, _ in text.rows)


def test_a_digest_says_what_it_stands_for_and_the_present_state(digest):
    assert wording.text(digest).lines == [
        "Rankscope: 3 incidents open (1 critical, 2 warning), 1 resolved",
        "Stands for: 12 messages since 2023-11-14 22:13:20 UTC",
        "Critical: Switch fault: switch leaf-3; run-1, attempt 2 (cluster c1)",
        "Warning: Switch fault: switch leaf-3; run-1, attempt 2 (cluster c1)",
        "And: 2 more incidents; the console lists them",
    ]


def test_only_our_own_runbooks_become_pages_of_the_console():
    link = wording.runbook_link
    assert "https://c.example/#/runbooks/host.lost" == (
        link("https://c.example/", "docs/runbooks/host.lost.md")
    )
    assert "docs/runbooks/host.lost.md" == link("", "docs/runbooks/host.lost.md")
    assert "https://wiki.example/lost" == link("https://c.example", "https://wiki.example/lost")


def test_without_a_console_there_is_no_link(new_document):
    assert "" == wording.text(OutboxNotice("incident.opened", 0.0, new_document())).link


def test_many_jobs_are_not_listed_one_by_one(new_notice):
    notice = new_notice(jobs=tuple(f"run-{number}" for number in range(400)))
    assert ("Jobs", "run-0, run-1, run-2 and 397 more, attempt 2 (cluster c1)") in (
        wording.text(notice).rows
    )


@given(st.text(), st.integers(1, 50))
def test_a_line_is_one_line_without_control_characters_and_not_longer(text, most):
    found = plain.line(text, most)
    assert len(found) <= most
    assert found.isprintable() or not any(letter in found for letter in "\r\n\t\x1b\u202e\u200b")


@given(st.lists(st.text(alphabet="ab\u00fc\u4e2d\U0001f600"), max_size=8), st.integers(20, 60))
def test_lines_are_cut_at_a_border_and_the_last_is_kept(lines, most):
    found = plain.fitting(lines, most, last="link: http://h/")
    assert len(found.encode()) <= most
    assert found.endswith("link: http://h/")
    assert "\ufffd" not in found
