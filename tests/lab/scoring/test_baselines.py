"""The simple methods: on telemetry made by hand, each finds what it is made for."""

import dataclasses

import numpy as np
import pytest

from rankscope.formats.otlp.columns import PointColumns, SeriesTable
from rankscope.lab.scoring.baselines import (
    METHODS,
    alarms,
    found,
    grid,
    isolation_forest,
    loudest,
    three_sigma,
    thresholds,
)
from rankscope.vocabulary import entities
from rankscope.vocabulary.samples import Event, TelemetryResource, attributes

START = 10_000.0


def matrix(values, metric="training.step.duration", **pairs):
    values = np.asarray(values, dtype=float)
    ranks = tuple(entities.rank(number, f"gpu-{number // 4:02d}") for number in range(len(values)))
    return grid.GridMatrix(metric, pairs, ranks, values)


def made(*matrices):
    count = matrices[0].values.shape[1]
    return grid.MetricGrid(START + 5.0 * np.arange(1, count + 1), matrices)


@pytest.fixture
def calm():
    """Eight ranks over ten minutes, about 1 s a step."""
    return 1 + 0.01 * np.random.default_rng(5).standard_normal((8, 120))


class TestGrid:
    def delivered(self, *rows):
        table, delivered = SeriesTable(), []
        for received, metric, value, pairs in rows:
            series = table.intern(TelemetryResource("gpu-00", "train"), metric, attributes(pairs))
            columns = PointColumns(
                np.array([series], np.int32), np.array([received]), np.array([float(value)])
            )
            delivered.append((received, columns))
        return grid.gridded(table, delivered)

    def test_a_cell_is_the_last_value_that_was_received_in_its_five_seconds(self):
        rank = {"rank": 3}
        name = "training.step.duration"
        result = self.delivered((0.0, name, 1, rank), (4.0, name, 2, rank), (11.0, name, 3, rank))
        (row,) = result.matrices
        assert [2.0, pytest.approx(np.nan, nan_ok=True), 3.0] == row.values[0].tolist()
        assert (entities.rank(3, "gpu-00"),) == row.entities
        assert [5.0, 10.0, 15.0] == result.at.tolist()

    def test_counters_become_rates_and_a_restart_is_none(self):
        name, port = "hw.network.errors", {"device": "mlx5_0", "port": "1"}
        result = self.delivered(
            (0.0, name, 10, port),
            (5.0, name, 20, port),
            (15.0, name, 40, port),
            (20.0, name, 5, port),
        )
        (row,) = result.matrices
        rates = row.values[0]
        assert [2.0, 2.0, 0.0] == rates[[1, 3, 4]].tolist()
        assert np.isnan(rates[[0, 2]]).all()

    def test_a_device_is_the_rank_on_it_where_that_is_known(self):
        result = self.delivered(
            (0.0, "training.rank.info", 1, {"rank": 5, "hw.id": "GPU-a"}),
            (0.0, "hw.power", 300, {"hw.id": "GPU-a", "gpu": "0"}),
            (0.0, "hw.power", 200, {"hw.id": "GPU-b", "gpu": "1"}),
        )
        (row,) = result.matrices
        assert (entities.rank(5, "gpu-00"), entities.gpu("GPU-b", "gpu-00")) == row.entities

    def test_nothing_delivered_is_an_empty_grid_and_no_alarm(self):
        assert dict.fromkeys(METHODS, ()) == found(SeriesTable(), [], [], "j")

    def test_gaps_are_filled_for_a_while(self):
        values = np.array([[np.nan, 1.0, np.nan, np.nan, np.nan]])
        filled = grid.filled(values, most=2)[0]
        assert [1.0, 1.0, 1.0] == filled[1:4].tolist()
        assert np.isnan(filled[[0, 4]]).all()


class TestThreeSigma:
    def test_a_lasting_jump_is_an_alarm_at_the_third_value(self, calm):
        calm[3, 60:] += 1.0
        first = three_sigma.alarms(made(matrix(calm)), [])[0]
        assert (START + 63 * 5.0, "3") == (first.at, first.entity.id)

    def test_a_constant_series_and_a_single_value_are_none(self):
        values = np.ones((4, 100))
        assert [] == three_sigma.alarms(made(matrix(values)), [])
        values[0, 50] = 9.0
        assert [] == three_sigma.alarms(made(matrix(values)), [])

    def test_large_numbers_keep_their_digits(self, calm):
        z = three_sigma.deviations(calm * 1e3)
        shifted = three_sigma.deviations(calm * 1e3 + 1e12)
        assert np.allclose(z[:, 30:], shifted[:, 30:], rtol=1e-2)

    def test_non_finite_values_are_passed_over(self, calm):
        calm[0, 40] = np.inf
        calm[1, :] = np.nan
        assert all(alarm.entity.id != "1" for alarm in three_sigma.alarms(made(matrix(calm)), []))


class TestLoudest:
    def test_the_entity_farthest_from_its_peers_is_named(self, calm):
        calm[6, 60:] *= 1.5
        calm[2, 60:] *= 1.2
        assert {"6"} == {alarm.entity.id for alarm in loudest.alarms(made(matrix(calm)), [])}

    def test_peers_that_all_change_are_no_alarm(self, calm):
        calm[:, 60:] *= 3
        assert [] == loudest.alarms(made(matrix(calm)), [])

    def test_three_entities_are_no_peers(self, calm):
        calm[2, 60:] *= 3
        assert [] == loudest.alarms(made(matrix(calm[:3])), [])


class TestIsolationForest:
    def test_a_rank_that_leaves_the_others_in_several_metrics_is_named(self, calm):
        other = 300 + 3 * np.random.default_rng(6).standard_normal(calm.shape)
        calm[5, 60:] += 0.5
        other[5, 60:] -= 90
        alarmed = isolation_forest.alarms(made(matrix(calm), matrix(other, "hw.power")), [])
        assert {"5"} == {alarm.entity.id for alarm in alarmed}

    def test_ranks_alike_are_none(self, calm):
        assert [] == isolation_forest.alarms(made(matrix(calm)), [])
        assert [] == isolation_forest.alarms(made(matrix(np.ones((8, 120)))), [])


class TestThresholds:
    def test_a_rule_fires_after_it_has_held(self):
        values = np.full((4, 60), 60.0)
        values[1, 20:] = 92.0
        fired = thresholds.alarms(made(matrix(values, "hw.temperature")), [])
        assert (START + (20 + 12 + 1) * 5.0, "1", "GpuTemperatureHigh") == (
            fired[0].at, fired[0].entity.id, fired[0].text,
        )  # fmt: skip

    def test_a_rule_for_one_attribute_ignores_the_others(self):
        values = np.ones((4, 60))
        throttle = "hw.gpu.throttle"
        assert [] == thresholds.alarms(made(matrix(values, throttle, reason="power_cap")), [])
        assert thresholds.alarms(made(matrix(values, throttle, reason="thermal_hw")), [])

    def test_a_share_of_a_limit(self):
        usage, limit = np.full((2, 90), 9.7), np.full((2, 90), 10.0)
        rows = (matrix(usage, "system.memory.usage"), matrix(limit, "system.memory.limit"))
        assert {"HostOutOfMemory"} == {row.text for row in thresholds.alarms(made(*rows), [])}

    def test_a_host_from_which_nothing_comes_is_down(self):
        values = np.ones((8, 60))
        values[4:, 20:] = np.nan
        fired = thresholds.alarms(made(matrix(values)), [])
        assert {("gpu-01", "TargetDown")} == {(row.entity.id, row.text) for row in fired}

    def test_events_fire_when_they_are_received_and_clean_exits_do_not(self):
        def exits(code):
            return Event(
                "process.exit", 1.0, {"rank": 2, "exit_code": code}, TelemetryResource("gpu-00")
            )

        empty = grid.MetricGrid(np.empty(0), ())
        fired = thresholds.alarms(empty, [(7.0, exits(1)), (8.0, exits(0))])
        assert [(7.0, "2", "ProcessFailed")] == [(r.at, r.entity.id, r.text) for r in fired]


class TestGrouping:
    def test_alarms_within_five_minutes_are_one_incident_at_the_loudest_of_its_start(self):
        def alarm(at, score, rank):
            return alarms.MethodAlarm(at, entities.rank(rank), score, "x")

        rows = [alarm(0, 1, 1), alarm(20, 5, 2), alarm(250, 9, 3), alarm(700, 1, 4)]
        incidents = alarms.grouped(rows, "train")
        assert [("2", 0), ("4", 700)] == [
            (row.entity and row.entity.id, row.opened_at) for row in incidents
        ]
        assert {"unknown"} == {row.fault for row in incidents}
        assert ("train",) == incidents[0].jobs

    def test_the_worst_severity_counts(self):
        warning = alarms.MethodAlarm(0, entities.rank(1), 1.0, "x")
        critical = dataclasses.replace(warning, at=5.0, severity="critical")
        assert "critical" == alarms.grouped([warning, critical], "train")[0].severity
