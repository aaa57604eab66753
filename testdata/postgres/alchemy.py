"""Drives a nacre server with SQLAlchemy over psycopg 2 or 3, unchanged: alchemy.py HOST PORT."""

import datetime
import decimal
import sys

import sqlalchemy as sa
from sqlalchemy import orm

host, port = sys.argv[1:3]
driver = "psycopg" if sa.__version__.startswith("2") else "psycopg2"
url = f"postgresql+{driver}://root:secret@{host}:{port}/test%2Ftest"
engine = sa.create_engine(url, connect_args={"options": "-c dialect=sql"}, future=True)
failed = False


def step(name):
    def decorate(run):
        global failed
        try:
            run()
            print("ok  ", name)
        except Exception as err:  # every step is reported
            failed = True
            print("FAIL", name, type(err).__name__, str(err)[:600])
        return run

    return decorate


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


@step("tables are defined in the language of the product")
def _():
    with engine.begin() as conn:
        for text in """DEFINE TABLE writer SCHEMAFULL
DEFINE FIELD name ON writer TYPE string
DEFINE FIELD born ON writer TYPE option<datetime>
DEFINE FIELD rate ON writer TYPE option<decimal>
DEFINE FIELD active ON writer TYPE option<bool>
DEFINE FIELD tags ON writer TYPE option<array<string>>
DEFINE INDEX writer_name ON writer FIELDS name UNIQUE
DEFINE TABLE book SCHEMAFULL COMMENT 'works'
DEFINE FIELD title ON book TYPE string
DEFINE FIELD pages ON book TYPE option<int> COMMENT 'in print'
DEFINE FIELD by ON book TYPE option<record<writer>>
DEFINE INDEX book_pages ON book FIELDS pages""".split("\n"):
            conn.exec_driver_sql(text)


meta = sa.MetaData()


@step("reflection")
def _():
    look = sa.inspect(engine)
    same(sorted(look.get_table_names()), ["book", "writer"])
    same(look.get_schema_names()[-1], "public")
    same({c["name"]: str(c["type"]) for c in look.get_columns("book")},
         {"id": "TEXT", "title": "TEXT", "pages": "BIGINT", "by": "TEXT"})
    same([c["nullable"] for c in look.get_columns("book") if c["name"] in ("id", "pages")], [False, True])
    same(look.get_pk_constraint("book")["constrained_columns"], ["id"])
    same([(k["constrained_columns"], k["referred_table"], k["referred_columns"]) for k in look.get_foreign_keys("book")],
         [(["by"], "writer", ["id"])])
    same([u["column_names"] for u in look.get_unique_constraints("writer")], [["name"]])
    same([(i["name"], i["column_names"], i["unique"]) for i in look.get_indexes("book")],
         [("book_pages", ["pages"], False)])
    same(look.get_table_comment("book"), {"text": "works"})
    same([c["comment"] for c in look.get_columns("book") if c["name"] == "pages"], ["in print"])
    same(look.get_check_constraints("book"), [])
    same(look.get_view_names(), [])
    meta.reflect(engine)
    same(sorted(meta.tables), ["book", "writer"])


@step("inserts, updates and deletes by the core")
def _():
    writer, book = meta.tables["writer"], meta.tables["book"]
    with engine.begin() as conn:
        born = datetime.datetime(1815, 12, 10, tzinfo=datetime.timezone.utc)
        conn.execute(writer.insert(), [
            {"id": "writer:ada", "name": "Ada", "born": born, "rate": decimal.Decimal("1.50"), "active": True, "tags": ["x", "y"]},
            {"id": "writer:bob", "name": "Bob", "born": None, "rate": None, "active": False, "tags": None},
        ])
        for n in range(1, 6):
            row = conn.execute(book.insert().returning(book.c.id), {"id": f"book:{n}", "title": f"T{n}", "pages": n * 100, "by": "writer:ada" if n % 2 else "writer:bob"}).one()
            same(row.id, f"book:{n}")
        same(conn.execute(sa.select(writer).where(writer.c.name == "Ada")).one(),
             ("writer:ada",) + tuple({"active": True, "born": born, "name": "Ada", "rate": decimal.Decimal("1.5"), "tags": ["x", "y"]}[c.name] for c in writer.c if c.name != "id"))
        same(conn.execute(book.update().where(book.c.pages > 300).values(pages=book.c.pages + 1)).rowcount, 2)
        same(conn.execute(book.delete().where(book.c.id == "book:5")).rowcount, 1)
        q = sa.select(writer.c.name, sa.func.count(), sa.func.sum(book.c.pages)).select_from(
            writer.outerjoin(book, book.c.by == writer.c.id)).group_by(writer.c.name).order_by(sa.desc("name"))
        same(conn.execute(q).all(), [("Bob", 2, 601), ("Ada", 2, 400)])
        sub = sa.select(book.c.by).where(book.c.pages.between(200, 400)).subquery()
        same(conn.execute(sa.select(writer.c.name).where(writer.c.id.in_(sa.select(sub.c.by)))
                          .order_by(writer.c.name.nulls_last()).limit(1).offset(1)).all(), [("Bob",)])
        over = sa.func.row_number().over(partition_by=book.c.by, order_by=book.c.pages.desc())
        same(conn.execute(sa.select(book.c.title, over.label("n")).order_by(book.c.title)).all(),
             [("T1", 2), ("T2", 2), ("T3", 1), ("T4", 1)])


@step("objects with relations, a nested transaction, a conflict")
def _():
    base = orm.declarative_base()

    class Writer(base):
        __tablename__ = "writer"
        id = sa.Column(sa.Text, primary_key=True)
        name = sa.Column(sa.Text)
        books = orm.relationship("Book", back_populates="writer", order_by="Book.title")

    class Book(base):
        __tablename__ = "book"
        id = sa.Column(sa.Text, primary_key=True)
        title = sa.Column(sa.Text)
        pages = sa.Column(sa.BigInteger)
        by = sa.Column(sa.Text, sa.ForeignKey("writer.id"))
        writer = orm.relationship(Writer, back_populates="books")

    with orm.Session(engine, future=True) as s:
        ada = s.get(Writer, "writer:ada")
        same([b.title for b in ada.books], ["T1", "T3"])
        ada.books.append(Book(id="book:9", title="T9", pages=9))
        ada.name = "Ada L."
        s.commit()
        same(s.execute(sa.select(Book).options(orm.joinedload(Book.writer)).where(Book.id == "book:9")).scalar_one().writer.name, "Ada L.")
        try:
            with s.begin_nested():
                s.add(Writer(id="writer:eve", name="Bob"))
        except sa.exc.IntegrityError as err:
            same(err.orig.pgcode if hasattr(err.orig, "pgcode") else err.orig.sqlstate, "23505")
        else:
            raise AssertionError("a unique index was ignored")
        s.delete(s.get(Book, "book:9"))
        s.commit()
        same(s.scalar(sa.select(sa.func.count()).select_from(Book)), 4)


@step("isolation levels, streams, exists, case, like, union, CTE")
def _():
    book = meta.tables["book"]
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as conn:
        same(conn.execute(sa.select(sa.exists().where(book.c.pages > 1000))).scalar(), False)
        stream = conn.execution_options(stream_results=True).execute(sa.select(book.c.pages).order_by(book.c.pages))
        same([r[0] for r in stream.partitions(3).__next__()], [100, 200, 300])
        stream.close()
        q = sa.union_all(sa.select(book.c.title).where(book.c.title.ilike("t1")),
                         sa.select(sa.case((book.c.pages > 400, "big"), else_="small")).where(book.c.title.like("T%4")))
        same(conn.execute(q).scalars().all(), ["T1", "big"])
        c = sa.select(book.c.pages).where(book.c.pages < 250).cte("c")
        same(conn.execute(sa.select(sa.func.max(c.c.pages), sa.cast(sa.literal("7"), sa.Integer))).one(), (200, 7))


sys.exit(failed)
