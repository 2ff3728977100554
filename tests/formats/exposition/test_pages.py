import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import exposition
from rankscope.formats.exposition import (
    ExpositionSeries,
    ForeignPageError,
    PageReader,
    PageTooLargeError,
    parse,
)

NOW = 1_700_000_000.0


def said(page):
    return [(series.name, dict(series.labels), value) for series, value in page.values]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"up 1\n", ("up", {}, 1.0)),
        (b"up 1\r\n", ("up", {}, 1.0)),
        (b"up{} 1\n", ("up", {}, 1.0)),
        (b'up{a="b",} 1\n', ("up", {"a": "b"}, 1.0)),
        (b'up{a="",b="c"} 1\n', ("up", {"b": "c"}, 1.0)),
        (b'up{ a = "b" , c = "d" } 1.5e3\n', ("up", {"a": "b", "c": "d"}, 1500.0)),
        (b'up{a="b"}1\n', ("up", {"a": "b"}, 1.0)),
        (b'up{a="b"}\t1\n', ("up", {"a": "b"}, 1.0)),
        (b'up{a="} 5"} 7\n', ("up", {"a": "} 5"}, 7.0)),
        (b'up{a="x=\\"y\\",\\\\ \\n"} 1\n', ("up", {"a": 'x="y",\\ \n'}, 1.0)),
        (b'up{a="C:\\dir"} 1\n', ("up", {"a": "C:\\dir"}, 1.0)),
        (b'up{a="b"} +Inf\n', ("up", {"a": "b"}, float("inf"))),
        (b'up{a="\xff"} 1\n', ("up", {"a": "\ufffd"}, 1.0)),
        (b'h_bucket{le="1"} 5 # {id="} 9"} 0.5 1.2\n', ("h_bucket", {"le": "1"}, 5.0)),
        (b'\xef\xbb\xbfup{a="b"} 1\n', ("up", {"a": "b"}, 1.0)),
        (b"up 1 1700000000000\n", ("up", {}, 1.0)),
    ],
)
def test_a_line_is_read_however_exporters_write_it(line, expected):
    page = parse(line, now=NOW)
    assert said(page) == [expected]
    assert not page.problems


@pytest.mark.parametrize(
    "line",
    [
        b'up{a="b} 1',
        b"up{a=b} 1",
        b"up{a} 1",
        b"up",
        b"up{",
        b"up one",
        b"up 1_000",
        b"up 1 2 3",
        b'up{a="b",a="c"} 1',
        b'up{a="b";c="d"} 1',
        "up \uff11".encode(),
        b"{} 1",
        b"9up 1",
    ],
)
def test_a_bad_line_is_counted_and_the_rest_still_read(line):
    page = parse(b"before 1\n" + line + b"\nafter 2\n", now=NOW)
    assert [name for name, _, _ in said(page)] == ["before", "after"]
    assert dict(page.problems) == {"bad_line": 1}


def test_of_a_series_told_twice_the_first_holds_also_in_another_order_of_labels():
    page = parse(b'up{a="1",b="2"} 1\nup{b="2",a="1"} 2\nup{a="1",b="2"} 3\n', now=NOW)
    assert said(page) == [("up", {"a": "1", "b": "2"}, 1.0)]
    assert page.problems["duplicate"] == 2


def test_a_last_line_without_an_end_may_be_half_a_number_and_is_left_out():
    page = parse(b"power 4\nenergy 12", now=NOW)
    assert said(page) == [("power", {}, 4.0)]
    assert page.problems["cut"] == 1


@pytest.mark.parametrize(
    "stamp", [b"1136073600000", b"1606402000", b"-1", b"99999999999999", b"1700000000"]
)
def test_a_timestamp_of_another_time_is_counted_and_the_value_kept(stamp):
    page = parse(b'up{a="b"} 1 ' + stamp + b"\n", now=NOW)
    assert said(page) == [("up", {"a": "b"}, 1.0)]
    assert page.problems["stale_timestamp"] == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body>login</body></html>",
        b"\n  <html>\n</html>\n",
        b'{"status": "ok"}\n',
        b"404 page not found\n",
        b"half a sentence",
    ],
)
def test_an_answer_that_is_no_exposition_says_what_it_is(body):
    with pytest.raises(ForeignPageError, match="path"):
        parse(body, now=NOW)


def test_a_page_without_any_series_is_an_empty_page():
    page = parse(b"# HELP up nothing yet\n# TYPE up gauge\n# EOF\n", now=NOW)
    assert (page.values, dict(page.problems)) == ([], {})


def test_two_hundred_megabytes_are_not_read_to_their_end():
    given_out = 0

    def flood():
        nonlocal given_out
        while given_out < 200 << 20:
            given_out += 1 << 16
            yield b'flood{a="b"} 1\n' * 4096

    with pytest.raises(PageTooLargeError, match="max_bytes"):
        PageReader(lambda series: series, max_bytes=1 << 20).read(flood(), now=NOW)
    assert given_out <= 2 << 20


def test_a_line_that_never_ends_is_not_held_and_the_next_one_is_read():
    long = b"x" * 1000
    pieces = [b'before 1\nup{a="', *[long] * 200, b'"} 1\nafter 2\n']
    page = PageReader(lambda series: series).read(pieces, now=NOW)
    assert [series.name for series, _ in page.values] == ["before", "after"]
    assert page.problems["too_long"] == 1


def test_what_a_series_is_is_asked_once():
    asked = []

    def bind(series):
        asked.append(series)
        return series.name if series.name == "wanted" else None

    reader = PageReader(bind)
    for value in (b"1", b"2"):
        page = reader.read([b'wanted{a="b"} ' + value + b"\nother 5\n"], now=NOW)
        assert page.values == [("wanted", float(value))]
        assert page.series == 2
    assert asked == [ExpositionSeries("wanted", (("a", "b"),)), ExpositionSeries("other")]
    reader.forget()
    reader.read([b"other 5\n"], now=NOW)
    assert len(asked) == 3


def test_series_that_come_and_go_do_not_pile_up():
    reader = PageReader(lambda series: series)
    for at in range(30):
        lines = "".join(f'up{{pod="{at}-{pod}"}} 1\n' for pod in range(500))
        reader.read([lines.encode()], now=NOW)
    assert len(reader._known) <= 2 * 500 + 500 + 500
    assert reader.forgotten > 5


@given(st.binary(max_size=400), st.integers(1, 50))
def test_no_bytes_whatever_break_the_reader(data, size):
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    try:
        page = PageReader(lambda series: series).read(pieces, now=NOW)
    except exposition.UnreadablePageError:
        return
    assert page.series == len(page.values)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,10}", fullmatch=True),
            st.dictionaries(
                st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True),
                st.text(min_size=1, max_size=12),
                max_size=3,
            ),
            st.floats(allow_nan=False),
        ),
        max_size=8,
        unique_by=lambda one: (one[0], tuple(sorted(one[1].items()))),
    ),
    st.integers(1, 40),
)
def test_what_is_written_comes_back_however_it_is_cut_into_pieces(series, size):
    def escaped(text):
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    text = "".join(
        f"{name}{{" + ",".join(f'{k}="{escaped(v)}"' for k, v in labels.items()) + f"}} {value!r}\n"
        for name, labels, value in series
    )
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return  # half of a surrogate pair is not text
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    page = PageReader(lambda one: one).read(pieces, now=NOW)
    expected = [(name, dict(labels), value) for name, labels, value in series]
    assert said(page) == expected
