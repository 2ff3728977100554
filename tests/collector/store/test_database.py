"""The database: durable, migrated, private, and honest when it cannot be used."""

import stat
import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from rankscope.collector.store import IncidentDatabaseStore, tables
from rankscope.collector.store.database import IncidentDatabase
from rankscope.collector.store.errors import UnusableError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "rankscope.db"


def test_migrations_build_exactly_the_tables_that_the_code_speaks_of(unmade_url):
    database = IncidentDatabase(unmade_url)
    with database.engine.connect() as db:
        differences = compare_metadata(MigrationContext.configure(db), tables.metadata)
    database.close()
    assert differences == []


def test_a_commit_survives_a_power_cut(path):
    """WAL with synchronous=FULL: SQLite syncs the log before a commit returns."""
    database = IncidentDatabase(f"sqlite:///{path}")
    with database.write() as db:
        modes = [
            db.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    database.close()
    assert modes == ["wal", 2, 1]


def test_only_the_owner_may_read_the_file_for_it_holds_secrets(path):
    IncidentDatabase(f"sqlite:///{path}").close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_store_of_a_newer_version_is_not_touched(unmade_url):
    database = IncidentDatabase(unmade_url)
    with database.write() as db:
        db.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    with pytest.raises(UnusableError, match="another version of rankscope"):
        IncidentDatabase(unmade_url)


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(UnusableError, match=r"notes\.txt.*not a database"):
        IncidentDatabase(f"sqlite:///{path}")
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "nonsense",
        "postgresql://u:hunter2@127.0.0.1:1/db",
        "x://y",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url):
    with pytest.raises(UnusableError) as refusal:
        IncidentDatabaseStore(url)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hunter2@127.0.0.1:1/incidents",
        "postgresql+psycopg://u@127.0.0.1:1/incidents?password=hunter2&sslpassword=hunter2",
    ],
)
def test_a_database_that_is_away_is_named_without_its_password(url):
    with pytest.raises(UnusableError, match=r"127\.0\.0\.1:1/incidents does not answer") as refusal:
        IncidentDatabaseStore(url)
    assert "refused" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_names_of_tables_and_indexes_are_not_too_long_for_postgresql():
    for table in tables.metadata.sorted_tables:
        assert all(len(str(index.name)) < 64 for index in table.indexes)  # it cuts the rest off


def test_readers_see_one_state_while_a_writer_is_at_work(url, changed):
    store = IncidentDatabaseStore(url)
    store.commit([changed("opened")], 0.0)
    database = IncidentDatabase(url)
    with database.write() as db:
        db.exec_driver_sql("DELETE FROM incident_jobs")
        db.exec_driver_sql("DELETE FROM incidents")
        assert len(store.incidents().items) == 1
    assert store.incidents().items == []
    database.close()
    store.close()


def test_threads_that_write_at_once_wait_for_each_other(store, changed):
    failures = []

    def write(number):
        try:
            for turn in range(10):
                store.commit([changed("opened", identity=f"{number}{turn}")], 0.0)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.incidents(limit=100).items) == 80
