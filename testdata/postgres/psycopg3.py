"""Drives a nacre server with psycopg 3, unchanged: psycopg3.py HOST PORT."""

import datetime
import decimal
import os
import sys
import uuid

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

host, port = sys.argv[1:3]
dsn = f"host={host} port={port} user=root password=secret dbname=test/test"
failed = False


def step(name):
    def decorate(run):
        global failed
        if name in os.environ.get("WITHOUT_STEPS", "").split(";"):
            return run
        try:
            with psycopg.connect(dsn) as conn:
                run(conn)
            print("ok  ", name)
        except Exception as err:  # every step is reported
            failed = True
            print("FAIL", name, type(err).__name__, err)
        return run

    return decorate


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def plain(conn):
    conn.execute("SET dialect = 'sql'")
    return conn


@step("tables are defined in the language of the product")
def _(conn):
    conn.autocommit = True
    conn.execute("""DEFINE TABLE city SCHEMAFULL;
        DEFINE FIELD name ON city TYPE string;
        DEFINE FIELD people ON city TYPE option<int>;
        DEFINE FIELD area ON city TYPE option<float>;
        DEFINE FIELD tax ON city TYPE option<decimal>;
        DEFINE FIELD open ON city TYPE option<bool>;
        DEFINE FIELD founded ON city TYPE option<datetime>;
        DEFINE FIELD trip ON city TYPE option<duration>;
        DEFINE FIELD code ON city TYPE option<uuid>;
        DEFINE FIELD seal ON city TYPE option<bytes>;
        DEFINE FIELD tags ON city TYPE option<array<string>>;
        DEFINE FIELD facts ON city TYPE option<object> FLEXIBLE;
        DEFINE INDEX city_name ON city FIELDS name UNIQUE""")


values = {
    "name": "Zürich 'x' \\ \"y\"",
    "people": 440_000,
    "area": 87.5,
    "tax": decimal.Decimal("1.1900"),
    "open": True,
    "founded": datetime.datetime(1262, 3, 4, 5, 6, 7, 123456, datetime.timezone.utc),
    "trip": datetime.timedelta(days=3, seconds=7, microseconds=5),
    "code": uuid.UUID("11111111-2222-4333-8444-555555555555"),
    "seal": b"\x00\xff\x01",
    "tags": ["a", "b,c", ""],
    "facts": {"a": [1, None, {"b": "ü"}]},
}


@step("parameters and results of every type, as text and binary")
def _(conn):
    plain(conn)
    cols = list(values)
    for n, form in enumerate(["%s", "%b", "%t"]):
        args = [f"city:{n}"] + [Jsonb(v) if k == "facts" else v for k, v in values.items()]
        args[1] += str(n)
        conn.execute(f"INSERT INTO city (id, {', '.join(cols)}) VALUES ({', '.join([form] * len(args))})", args)
        for binary in (False, True):
            cur = conn.cursor(binary=binary, row_factory=dict_row)
            row = cur.execute(f"SELECT {', '.join(cols)} FROM city WHERE id = %s", [f"city:{n}"]).fetchone()
            same(row, values | {"name": values["name"] + str(n)})
            for col in ("people", "area", "tax", "open", "founded", "code"):
                got = conn.execute(f"SELECT count(*) FROM city WHERE {col} = {form}", [values[col]]).fetchone()
                same(got, (n + 1,))


@step("NULL")
def _(conn):
    plain(conn)
    conn.execute("INSERT INTO city (id, name, people) VALUES ('city:none', 'Nowhere', %s)", [None])
    same(conn.execute("SELECT people, area, tags, facts FROM city WHERE id = 'city:none'").fetchone(), (None,) * 4)
    same(conn.execute("SELECT %s::int8 IS NULL", [None]).fetchone(), (True,))


@step("transactions, savepoints and their errors")
def _(conn):
    plain(conn)
    conn.commit()
    with conn.transaction(force_rollback=True):
        conn.execute("DELETE FROM city")
        same(conn.execute("SELECT count(*) FROM city").fetchone(), (0,))
    same(conn.execute("SELECT count(*) FROM city").fetchone(), (4,))
    with conn.transaction():
        conn.execute("UPDATE city SET people = 1 WHERE id = 'city:none'")
        try:
            with conn.transaction():
                conn.execute("UPDATE city SET name = %s WHERE id = 'city:none'", [values["name"] + "0"])
            raise AssertionError("a unique index was ignored")
        except psycopg.errors.UniqueViolation as err:
            same(err.diag.constraint_name, "city_name")
    same(conn.execute("SELECT people, name FROM city WHERE id = 'city:none'").fetchone(), (1, "Nowhere"))
    for text, err in {
        "SELECT nothing FROM city": psycopg.errors.UndefinedColumn,
        "SELECT 1 FROM nothing": psycopg.errors.UndefinedTable,
        "SELEC 1": psycopg.errors.SyntaxError,
        "SELECT 1/0": psycopg.errors.DivisionByZero,
        "SELECT 'x'::int": psycopg.errors.InvalidTextRepresentation,
    }.items():
        try:
            conn.execute(text)
            raise AssertionError(text)
        except err:
            pass
        try:
            conn.execute("SELECT 1")
            raise AssertionError("a failed transaction goes on")
        except psycopg.errors.InFailedSqlTransaction:
            conn.rollback()
            plain(conn)


@step("isolation levels and read-only transactions")
def _(conn):
    conn.read_only = True
    conn.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    plain(conn)
    try:
        conn.execute("DELETE FROM city")
        raise AssertionError("a read-only transaction writes")
    except psycopg.errors.ReadOnlySqlTransaction:
        pass


@step("prepared statements and executemany")
def _(conn):
    plain(conn)
    for n in range(8):
        same(conn.execute("SELECT %s::int8 + 1", [n], prepare=True).fetchone(), (n + 1,))
    cur = conn.cursor()
    cur.executemany("INSERT INTO city (id, name, people) VALUES (%s, %s, %s)",
                    [(f"city:m{n}", f"many{n}", n) for n in range(50)])
    same(cur.rowcount, 50)
    same(conn.execute("SELECT sum(people) FROM city WHERE name LIKE 'many%'").fetchone(), (1225,))


@step("pipelines")
def _(conn):
    plain(conn)
    with conn.pipeline():
        curs = [conn.execute("SELECT %s::text || %s", [str(n), "!"]) for n in range(20)]
        same([c.fetchone()[0] for c in curs], [f"{n}!" for n in range(20)])


@step("server cursors")
def _(conn):
    plain(conn)
    with conn.cursor(name="c") as cur:
        cur.execute("SELECT people FROM city WHERE name LIKE 'many%' ORDER BY people")
        same([r[0] for r in cur.fetchmany(3)], [0, 1, 2])
        same(len(cur.fetchall()), 47)
    with conn.cursor(name="s", scrollable=True) as cur:
        cur.execute("SELECT people FROM city WHERE name LIKE 'many%' ORDER BY people")
        cur.scroll(10)
        same(cur.fetchone(), (10,))
        cur.scroll(-5)
        same(cur.fetchone(), (6,))


@step("COPY, as text and binary, in and out")
def _(conn):
    plain(conn)
    cur = conn.cursor()
    with cur.copy("COPY city (id, name, people, tags) FROM STDIN") as copy:
        for n in range(1000):
            copy.write_row((f"city:t{n}", f"text\t{n}\n\\", n, ["x", "y,z"]))
    same(cur.rowcount, 1000)
    with cur.copy("COPY city (id, name, people, area) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["text", "text", "int8", "float8"])
        for n in range(1000):
            copy.write_row((f"city:b{n}", f"binary{n}", n, n / 2))
    with cur.copy("COPY (SELECT name, people FROM city WHERE name LIKE 'text%' ORDER BY people) TO STDOUT") as copy:
        copy.set_types(["text", "int8"])
        rows = list(copy.rows())
    same(rows[7], ("text\t7\n\\", 7))
    same(len(rows), 1000)
    with cur.copy("COPY (SELECT people, area FROM city WHERE name LIKE 'binary%' ORDER BY people) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "float8"])
        same(list(copy.rows())[9], (9, 4.5))
    with cur.copy("COPY city TO STDOUT (FORMAT csv, HEADER)") as copy:
        same(b"".join(copy).startswith(b"id,"), True)
    try:
        with cur.copy("COPY city (name, people) FROM STDIN") as copy:
            copy.write("x\tnot a number\n")
        raise AssertionError("a number that is none is taken")
    except psycopg.errors.InvalidTextRepresentation:
        pass


@step("LISTEN and NOTIFY")
def _(conn):
    conn.autocommit = True
    conn.execute("LISTEN news")
    got = []
    conn.add_notify_handler(lambda note: got.append((note.channel, note.payload)))
    conn.execute("NOTIFY news, 'first'")
    same(got, [("news", "first")])
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_notify('news', 'second')")
    note = next(conn.notifies())
    same((note.channel, note.payload), ("news", "second"))


@step("types are found by name, statements are composed")
def _(conn):
    plain(conn)
    same(psycopg.types.TypeInfo.fetch(conn, "uuid").oid, 2950)
    q = sql.SQL("SELECT {} FROM {} WHERE {} = %s").format(*map(sql.Identifier, ["name", "city", "people"]))
    same(conn.execute(q, [440_000]).fetchall()[0], (values["name"] + "0",))


@step("the language of the product")
def _(conn):
    conn.execute("CREATE note:1 CONTENT { text: %s, n: %s }", ["hello", 5])
    same(conn.execute("SELECT text, n FROM note WHERE n = %s", [5]).fetchall(), [("hello", 5)])
    same(conn.execute("RETURN { a: 1 }").fetchone(), (1,))


@step("cancel")
def _(conn):
    import threading

    timer = threading.Timer(0.2, conn.cancel)
    timer.start()
    try:
        conn.execute("SLEEP 1h")
        raise AssertionError("not cancelled")
    except psycopg.errors.QueryCanceled:
        pass


sys.exit(failed)
