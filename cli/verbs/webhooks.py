"""`rankscope webhooks`: whom a running collector notifies, what was sent, and sending again."""

import argparse
from collections.abc import Mapping
from typing import Any

from .. import asking, tables, terminal

HELP = "list and test the webhooks of a running collector, list and replay what was sent"
EXTRA: str | None = None

_STATES = ("pending", "delivered", "dead", "suppressed")
_ENDPOINTS = ("ID", "FORMAT", "STATE", "PER MINUTE", "SEVERITIES", "URL")
_MESSAGES = ("CREATED (UTC)", "STATE", "TRIES", "TYPE", "INCIDENT", "LAST ANSWER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("list", "test", "deliveries", "replay"),
        help="list the endpoints; send one a test message; list its messages; send them again",
    )
    parser.add_argument("webhook", nargs="?", help="id of an endpoint (not for list)")
    parser.add_argument(
        "--state",
        choices=_STATES,
        action="append",
        default=[],
        help="only messages in this state; of replay may be repeated (default: dead)",
    )
    parser.add_argument(
        "--since", help="replay: only messages written since then (RFC 3339 or epoch)"
    )
    parser.add_argument(
        "--limit",
        type=asking.count,
        default=50,
        metavar="N",
        help="deliveries: at most so many (default: 50)",
    )
    parser.add_argument("--json", action="store_true", help="one object a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; exit code 1 where the test message was not taken, too."""
    if (arguments.webhook is None) != (arguments.action == "list"):
        terminal.complain(
            "rankscope webhooks: list takes no id; test, deliveries and replay take one"
        )
        return 2
    if arguments.action == "deliveries" and len(arguments.state) > 1:
        terminal.complain("rankscope webhooks: deliveries takes one --state")
        return 2
    try:
        collector = asking.CollectorClient.of(arguments)
        if arguments.action == "list":
            rows = list(collector.every("webhooks"))
            tables.show(rows, _ENDPOINTS, _endpoint, as_json=arguments.json, nothing="no webhook")
            return 0
        if arguments.action == "test":
            return _tested(
                collector.post("webhooks", arguments.webhook, "test"), as_json=arguments.json
            )
        if arguments.action == "deliveries":
            return _deliveries(collector, arguments)
        return _replayed(collector, arguments)
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope webhooks: {error}")
        return 1


def _endpoint(row: Mapping[str, Any]) -> tuple[str, ...]:
    state = "enabled" if row["enabled"] else f"disabled: {row['disabled_reason']}"
    rate = "-" if row["per_minute"] is None else str(row["per_minute"])
    severities = ",".join(row["severities"])
    return (row["id"], row["format"], state, rate, severities, row["url"])


def _tested(answer: Mapping[str, Any], *, as_json: bool) -> int:
    if as_json:
        print(terminal.json_line(answer))
    elif answer["delivered"]:
        print(f"the receiver took the test message (HTTP {answer['status']})")
    else:
        print(f"the test message was not taken: {answer['error']}")
    return 0 if answer["delivered"] else 1


def _deliveries(collector: asking.CollectorClient, arguments: argparse.Namespace) -> int:
    rows = collector.first(
        arguments.limit,
        "webhooks",
        arguments.webhook,
        "deliveries",
        state=arguments.state[0] if arguments.state else None,
    )
    tables.show(rows, _MESSAGES, _message, as_json=arguments.json, nothing="no message")
    return 0


def _message(row: Mapping[str, Any]) -> tuple[str, ...]:
    answer = row["last_error"] or (f"HTTP {row['last_status']}" if row["last_status"] else "-")
    return (
        tables.moment(row["created_at"]),
        row["state"],
        str(row["attempts"]),
        row["type"],
        row["incident"],
        answer,
    )


def _replayed(collector: asking.CollectorClient, arguments: argparse.Namespace) -> int:
    body: dict[str, Any] = {"states": arguments.state or ["dead"]}
    if arguments.since is not None:
        body["since"] = arguments.since
    answer = collector.post("webhooks", arguments.webhook, "replay", body=body)
    if arguments.json:
        print(terminal.json_line(answer))
    else:
        number = answer["replayed"]
        print(f"{number} message{'' if number == 1 else 's'} will be sent again")
    return 0
