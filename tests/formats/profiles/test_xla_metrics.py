"""Reports of torch_xla's metrics."""

from rankscope.formats.profiles import xla_metrics

REPORT = """Metric: CompileTime
  TotalSamples: 92
  Accumulator: 02m44s963ms609.866us
  ValueRate: 820ms584.043us / second
  Rate: 0.725277 / second
  Percentiles: 1%=002ms356.538us; 50%=126ms519.035us; 99%=24s712ms913.329us
Metric: ExecuteTime
  TotalSamples: 108
  Accumulator: 1h01m03s486ms
  ValueRate: 034ms912.422us / second
Metric: InboundData
  TotalSamples: 144
  Accumulator: 3.44KB
Counter: UncachedCompile
  Value: 92
Counter: aten::_local_scalar_dense
  Value: 30
"""


def read(text):
    return xla_metrics.read(text.splitlines())


def test_times_are_seconds_and_counts_are_whole():
    (found,) = read("step 9\n" + REPORT)
    assert (2, 92, 164.96361) == (
        found.line, found.compiled.samples, round(found.compiled.seconds, 5)
    )  # fmt: skip
    assert (108, 3663.486, 0.034912) == (
        found.executed.samples, found.executed.seconds, round(found.executed.rate, 6)
    )  # fmt: skip
    assert {"aten::_local_scalar_dense": 30} == found.fallbacks


def test_what_is_no_time_has_none():
    assert 0.0 == read(REPORT)[0].metrics["InboundData"].seconds


def test_older_reports_call_the_sum_a_counter():
    (found,) = read(REPORT.replace("Accumulator: 02m", "Counter: 02m"))
    assert 164.96361 == round(found.compiled.seconds, 5)
    assert {"UncachedCompile", "aten::_local_scalar_dense"} == found.counters.keys()


def test_each_report_of_a_log_is_one_of_its_own():
    assert [1, 18] == [one.line for one in read(REPORT * 2)]


def test_a_report_that_lacks_what_it_is_asked_for_has_none_of_it():
    (found,) = read("Metric: CompileTime\n  TotalSamples: many\n")
    assert (0, 0) == (found.compiled.samples, found.executed.samples)
