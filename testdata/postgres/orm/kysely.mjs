// Drives a server with Kysely, unchanged.
import { CamelCasePlugin, Kysely, PostgresDialect, sql } from "kysely";
import { jsonArrayFrom, jsonBuildObject, jsonObjectFrom } from "kysely/helpers/postgres";
import Cursor from "pg-cursor";
import pg from "pg";
import { code, labels, options, people, posts, refused, run, step, tagged } from "./answers.mjs";

const pool = new pg.Pool({ ...options, max: 3 });
const db = new Kysely({ dialect: new PostgresDialect({ pool, cursor: Cursor }) });
const plain = (r) => JSON.parse(JSON.stringify(r, (_, v) => (typeof v === "bigint" ? Number(v) : v)));
const all = async (q) => plain(await q.execute());
const ids = async (q) => (await q.execute()).map((r) => Object.values(r)[0]);

step("insert of one row and of many, with returning", async () => [
  plain(await db.insertInto("person").values(people[0]).returningAll().executeTakeFirst()),
  await all(db.insertInto("person").values(people.slice(1)).returning(["id", "name", "age as years"])),
  await all(db.insertInto("post").values(posts)),
  await all(db.insertInto("tag").values(labels)),
  await all(db.insertInto("post_tag").values(tagged).returning("id")),
]);
step("insert of expressions, of a query, of defaults", async () => [
  await all(
    db
      .insertInto("tag")
      .values((eb) => ({ id: "tag:x1", label: eb.fn("concat", [eb.cast(eb.val("a"), "text"), sql.lit("b")]) }))
      .returningAll(),
  ),
  await all(
    db
      .insertInto("tag")
      .columns(["id", "label"])
      .expression((eb) =>
        eb
          .selectFrom("tag")
          .select((e) => [e.val("tag:x2").as("id"), sql`label || '2'`.as("label")])
          .where("id", "=", "tag:x1"),
      )
      .returning("label"),
  ),
  await all(
    db
      .insertInto("post")
      .values({ id: "post:x", title: "x", views: sql`default` })
      .returning(["views", "published"]),
  ),
  await all(db.deleteFrom("post").where("id", "=", "post:x")),
  await all(db.deleteFrom("tag").where("id", "in", ["tag:x1", "tag:x2"]).returning("label")),
]);
step("select of everything", () => all(db.selectFrom("person").selectAll().orderBy("id")));
step("select of columns, aliases and expressions", async () => [
  await all(
    db
      .selectFrom("person as p")
      .select(["p.id", "p.name as called"])
      .select((eb) => [
        eb.fn.coalesce("age", eb.lit(0)).as("age"),
        eb.case().when("age", ">", 35).then("old").when("age", "is", null).then("?").else("young").end().as("kind"),
        eb("age", "+", 1).as("next"),
        sql`upper(name)`.as("up"),
        eb.cast("age", "text").as("text"),
        eb.not("active").as("idle"),
        eb.neg("score").as("neg"),
      ])
      .orderBy("p.id"),
  ),
  plain(await db.selectFrom("person").select("name").where("id", "=", "person:2").executeTakeFirstOrThrow()),
  (await db.selectFrom("person").select("name").where("id", "=", "nothing").executeTakeFirst()) ?? "none",
]);
step("conditions", async () => {
  const w = (...c) =>
    ids(
      db
        .selectFrom("person")
        .select("id")
        .where(...c)
        .orderBy("id"),
    );
  return [
    await w("age", "=", 29),
    await w("age", "!=", 29),
    await w("age", "<>", 29),
    await w("age", ">", 29),
    await w("age", ">=", 36),
    await w("score", "<", 1),
    await w("balance", "<=", "10.25"),
    await w("age", "is", null),
    await w("email", "is not", null),
    await w("active", "is", true),
    await w("active", "is not", true),
    await w("age", "in", [29, 36]),
    await w("age", "not in", [29, 36]),
    await w("id", "in", ["nothing"]),
    await w("name", "like", "%d%"),
    await w("name", "not like", "%o%"),
    await w("name", "ilike", "a%"),
    await w("name", "~", "^[A-C]"),
    await w("name", "~*", "^[a-c]"),
    await w("name", "!~", "a"),
    await w("age", "is distinct from", 29),
    await w("age", "is not distinct from", null),
    await w((eb) => eb.between("age", 30, 40)),
    await w((eb) => eb.between("born", new Date("1980-01-01"), new Date("2000-01-01"))),
    await w((eb) => eb.betweenSymmetric("age", 40, 30)),
    await w((eb) => eb.and({ age: 29, active: false })),
    await w((eb) => eb.or([eb("age", "<", 30), eb("age", ">", 40)])),
    await w((eb) => eb.not(eb("age", "=", 29))),
    await w((eb) => eb.and([eb("active", "=", true), eb.or([eb("age", ">", 40), eb("age", "is", null)])])),
    await w(sql`lower(email) = ${"bob@example.com"}`),
    await w((eb) => eb(eb.refTuple("age", "active"), "in", [eb.tuple(29, false), eb.tuple(41, true)])),
    await ids(db.selectFrom("person").select("id").whereRef("name", "<", "email").orderBy("id")),
    await w((eb) => eb("age", "=", eb.fn.any(eb.val([29, 36])))),
    await w(sql`starts_with(name, ${"A"})`),
  ];
});
step("sub-queries and exists", async () => [
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where("id", "in", db.selectFrom("post").select("author_id").where("views", ">", 10))
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person as p")
      .select("id")
      .where(({ exists, selectFrom }) =>
        exists(selectFrom("post").select("post.id").whereRef("post.author_id", "=", "p.id")),
      )
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person as p")
      .select("id")
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom("post").select("post.id").whereRef("post.author_id", "=", "p.id"))),
      )
      .orderBy("id"),
  ),
  await all(
    db
      .selectFrom("person")
      .select((eb) => [
        "person.id",
        eb.selectFrom("post").select(eb.fn.countAll().as("n")).whereRef("author_id", "=", "person.id").as("n"),
      ])
      .orderBy("person.id"),
  ),
  await all(
    db
      .selectFrom((eb) =>
        eb
          .selectFrom("post")
          .select(["author_id", eb.fn.sum("views").as("total")])
          .groupBy("author_id")
          .as("t"),
      )
      .selectAll()
      .where("total", ">", 50)
      .orderBy("author_id"),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where("age", "=", (eb) => eb.selectFrom("person as o").select((e) => e.fn.max("o.age").as("m"))),
  ),
  await ids(
    db
      .selectFrom("post")
      .select("id")
      .where(
        "views",
        ">",
        (eb) => sql`all ${eb.selectFrom("post as o").select("o.views").where("o.published", "=", false)}`,
      ),
  ),
]);
step("joins", async () => [
  await all(
    db
      .selectFrom("post")
      .innerJoin("person", "person.id", "post.author_id")
      .select(["post.title", "person.name"])
      .orderBy("post.id"),
  ),
  await all(
    db
      .selectFrom("post as o")
      .leftJoin("person as a", "a.id", "o.author_id")
      .selectAll("a")
      .select("o.id as post")
      .orderBy("o.id")
      .offset(4),
  ),
  await all(
    db
      .selectFrom("person as p")
      .rightJoin("post as o", (j) => j.onRef("o.author_id", "=", "p.id").on("o.views", ">", 10))
      .select(["o.id", "p.name"])
      .orderBy("o.id"),
  ),
  await all(
    db
      .selectFrom("tag")
      .fullJoin("post_tag", "post_tag.tag_id", "tag.id")
      .select(["label", "post_tag.id"])
      .orderBy("tag.id")
      .orderBy("post_tag.id"),
  ),
  await all(
    db
      .selectFrom("tag as a")
      .crossJoin("tag as b")
      .select(["a.label", "b.label as other"])
      .whereRef("a.id", "<", "b.id")
      .orderBy("a.id")
      .orderBy("b.id"),
  ),
  await all(
    db
      .selectFrom("person as p")
      .leftJoinLateral(
        (eb) =>
          eb
            .selectFrom("post")
            .select("title")
            .whereRef("author_id", "=", "p.id")
            .orderBy("views", "desc")
            .orderBy("id")
            .limit(1)
            .as("t"),
        (j) => j.onTrue(),
      )
      .select(["p.id", "t.title"])
      .orderBy("p.id"),
  ),
  await all(
    db
      .selectFrom("person")
      .innerJoin(
        (eb) =>
          eb
            .selectFrom("post")
            .select(["author_id as a", (e) => e.fn.max("views").as("most")])
            .groupBy("author_id")
            .as("m"),
        (j) => j.onRef("m.a", "=", "person.id"),
      )
      .select(["name", "most"])
      .orderBy("name"),
  ),
]);
step("relations by the helpers", async () => [
  await all(
    db
      .selectFrom("person")
      .select((eb) => [
        "id",
        jsonArrayFrom(
          eb
            .selectFrom("post")
            .select(["post.id", "post.title", "post.views"])
            .whereRef("post.author_id", "=", "person.id")
            .orderBy("post.id"),
        ).as("posts"),
      ])
      .orderBy("id"),
  ),
  await all(
    db
      .selectFrom("post")
      .select((eb) => [
        "id",
        jsonObjectFrom(
          eb.selectFrom("person").select(["name", "age", "meta"]).whereRef("person.id", "=", "post.author_id"),
        ).as("author"),
        jsonBuildObject({ t: eb.ref("title"), v: eb.ref("views") }).as("both"),
      ])
      .orderBy("id"),
  ),
  await all(
    db
      .selectFrom("post")
      .select((eb) => [
        "id",
        jsonArrayFrom(
          eb
            .selectFrom("post_tag")
            .innerJoin("tag", "tag.id", "post_tag.tag_id")
            .select("label")
            .whereRef("post_id", "=", "post.id")
            .orderBy("label"),
        ).as("tags"),
      ])
      .orderBy("id"),
  ),
]);
step("ids that are written in quotes, and how ids are given does not matter", async () => {
  const uuid = "550e8400-e29b-41d4-a716-446655440000",
    p = `person:${uuid}`,
    o = `post:${uuid}`;
  await db.insertInto("person").values({ id: p, name: "Uma", active: true }).execute();
  await db.insertInto("post").values({ id: o, title: "By Uma", author_id: p, views: 1, published: false }).execute();
  const answer = [
    await all(db.selectFrom("person").select("name").where("id", "=", p)),
    await all(db.selectFrom("person").select("name").where("id", "in", [p, "person:1"]).orderBy("name")),
    await all(
      db
        .selectFrom("person")
        .select("name")
        .where((eb) => eb("id", "=", eb.fn.any(eb.val([p, "person:1"]))))
        .orderBy("name"),
    ),
    await all(
      db
        .selectFrom("post")
        .innerJoin("person", "person.id", "post.author_id")
        .select(["name", "title"])
        .where("post.id", "=", o),
    ),
    await all(db.selectFrom("post").select("title").where("author_id", "=", p)),
    await all(db.selectFrom("post").select("title").where("author_id", "is distinct from", p).where("id", "=", o)),
    await all(db.updateTable("post").set({ author_id: "person:1" }).where("id", "=", o).returning("author_id")),
    await all(
      db
        .insertInto("person")
        .values({ id: p, name: "Una" })
        .onConflict((c) => c.column("id").doUpdateSet({ name: "Una" }))
        .returning("name"),
    ),
    await all(db.deleteFrom("post").where("id", "=", o)),
    await all(db.deleteFrom("person").where("id", "=", p)),
  ];
  return answer;
});
step("order, limit, offset, nulls", async () => [
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .orderBy("age", (o) => o.desc().nullsLast())
      .orderBy("id", "desc")
      .limit(3)
      .offset(1),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .orderBy("age", (o) => o.asc().nullsFirst())
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .orderBy(sql`length(name)`, "desc")
      .orderBy("id"),
  ),
  await ids(db.selectFrom("person").select("id").orderBy("id").fetch(2)),
]);
step("aggregates", async () => [
  await all(
    db
      .selectFrom("person")
      .select(({ fn }) => [
        fn.countAll().as("n"),
        fn.count("age").as("ages"),
        fn.count("age").distinct().as("different"),
        fn.min("age").as("low"),
        fn.max("born").as("high"),
        fn.sum("balance").as("s"),
      ]),
  ),
  +(
    await db
      .selectFrom("person")
      .select(({ fn }) => fn.avg("age").as("a"))
      .executeTakeFirst()
  ).a,
  await all(
    db
      .selectFrom("post")
      .select(({ fn }) => ["author_id", fn.countAll().as("n")])
      .groupBy("author_id")
      .having(({ fn }) => fn.countAll(), ">", 1)
      .orderBy("author_id"),
  ),
  await all(
    db.selectFrom("post").select(({ fn, ref }) => [
      fn.agg("array_agg", ["title"]).orderBy("id").as("titles"),
      fn.countAll().filterWhere("views", ">", 10).as("busy"),
      fn
        .agg("string_agg", [ref("id"), sql.lit(",")])
        .orderBy("id", "desc")
        .as("ids"),
    ]),
  ),
  await all(
    db
      .selectFrom("post")
      .select(({ fn }) => ["published", fn.jsonAgg("post.title").orderBy("id").as("j")])
      .groupBy("published")
      .orderBy("published"),
  ),
  await all(
    db
      .selectFrom("person")
      .select(({ fn }) => fn.jsonAgg("person").as("j"))
      .where("id", "=", "person:3"),
  ),
  await all(
    db
      .selectFrom("person")
      .select(({ fn }) => fn.toJson("person").as("j"))
      .where("id", "=", "person:2"),
  ),
]);
step("distinct", async () => [
  await all(db.selectFrom("person").select("age").distinct().orderBy("age")),
  await all(
    db
      .selectFrom("post")
      .select(["author_id", "id"])
      .distinctOn("author_id")
      .orderBy("author_id")
      .orderBy("views", "desc")
      .orderBy("id"),
  ),
]);
step("unions, intersect, except", async () => {
  const p = db.selectFrom("person").select("id"),
    a = db.selectFrom("post").select("author_id as id").where("author_id", "is not", null);
  return [
    await ids(p.union(a).orderBy("id")),
    await ids(p.unionAll(a).orderBy("id")),
    await ids(p.intersect(a).orderBy("id")),
    await ids(p.except(a).orderBy("id")),
    await ids(a.intersectAll(a).orderBy("id")),
    await ids(
      p
        .union((eb) => eb.parens(a.except(p)))
        .orderBy("id")
        .limit(2),
    ),
  ];
});
step("common table expressions", async () => [
  await all(
    db
      .with("busy", (q) =>
        q
          .selectFrom("post")
          .select(({ fn }) => ["author_id", fn.countAll().as("n")])
          .groupBy("author_id"),
      )
      .selectFrom("busy")
      .innerJoin("person", "person.id", "busy.author_id")
      .select(["name", "n"])
      .orderBy("person.id"),
  ),
  await all(
    db
      .withRecursive("below(id, depth)", (q) =>
        q
          .selectFrom("person")
          .select(["id", sql`0`.as("depth")])
          .where("id", "=", "person:1")
          .unionAll(
            q
              .selectFrom("person as p")
              .innerJoin("below", "below.id", "p.boss_id")
              .select(["p.id", sql`below.depth + 1`.as("depth")]),
          ),
      )
      .selectFrom("below")
      .selectAll()
      .orderBy("depth")
      .orderBy("id"),
  ),
  await all(
    db
      .with(
        (c) => c("m").materialized(),
        (q) => q.selectFrom("tag").select("label"),
      )
      .selectFrom("m")
      .selectAll()
      .orderBy("label"),
  ),
]);
step("window functions", async () => [
  await all(
    db
      .selectFrom("post")
      .select(({ fn }) => [
        "id",
        fn
          .agg("row_number")
          .over((o) => o.partitionBy("author_id").orderBy("views", "desc").orderBy("id"))
          .as("r"),
        fn
          .sum("views")
          .over((o) => o.partitionBy("author_id"))
          .as("t"),
      ])
      .orderBy("id"),
  ),
]);
step("raw queries with bindings", async () => [
  (
    await sql`select ${sql.ref("name")}, ${1}::int8 + 1 as n from ${sql.table("person")} where ${sql.id("id")} = ${"person:1"}`.execute(
      db,
    )
  ).rows,
  (
    await sql`select id from person where id in (${sql.join(["person:1", "person:2"])}) order by ${sql.raw("id desc")}`.execute(
      db,
    )
  ).rows,
  await all(
    db
      .selectFrom(sql`(values (1, 'a'), (2, 'b'))`.as(sql`v(n, s)`))
      .select(["n", "s"])
      .orderBy("n"),
  ),
]);
step("JSON", async () => [
  await all(
    db
      .selectFrom("person")
      .select((eb) => [
        "id",
        eb.ref("meta", "->>").key("city").as("city"),
        eb.ref("meta", "->").key("deep").key("a").at(2).as("x"),
      ])
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where((eb) => eb(eb.ref("meta", "->>").key("city"), "=", "London"))
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where("meta", "@>", JSON.stringify({ city: "London" }))
      .orderBy("id"),
  ),
  await ids(db.selectFrom("person").select("id").where("meta", "?", "langs")),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where("meta", "?|", sql.val(["langs", "n"]))
      .orderBy("id"),
  ),
  await all(
    db
      .updateTable("person")
      .set({ meta: JSON.stringify({ a: { b: 1 } }) })
      .where("id", "=", "person:3")
      .returning("meta"),
  ),
  await all(
    db
      .updateTable("person")
      .set({ meta: { l: [1, null, { x: "y" }] } })
      .where("id", "=", "person:3")
      .returning("meta"),
  ),
  await all(
    db
      .updateTable("person")
      .set((eb) => ({ meta: eb("meta", "||", JSON.stringify({ c: 1 })) }))
      .where("id", "=", "person:3")
      .returning("meta"),
  ),
  await all(
    db
      .updateTable("person")
      .set({ meta: sql`meta - 'l'` })
      .where("id", "=", "person:3")
      .returning("meta"),
  ),
  await all(db.updateTable("person").set({ meta: null }).where("id", "=", "person:3").returning("meta")),
  await all(
    db
      .selectFrom("person")
      .innerJoin(sql`jsonb_array_elements_text(meta->'langs')`.as(sql`l(lang)`), (j) => j.onTrue())
      .select(["id", sql`l.lang`.as("lang")])
      .orderBy("lang"),
  ),
  await all(
    db
      .selectFrom("person")
      .innerJoin(sql`jsonb_each_text(meta)`.as(sql`e(k, v)`), (j) => j.onTrue())
      .select(["id", sql`e.k`.as("k"), sql`e.v`.as("v")])
      .where("id", "=", "person:4"),
  ),
]);
step("arrays", async () => [
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where("tags", "@>", sql.val(["math"]))
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where("tags", "&&", sql.val(["poetry", "a,b"]))
      .orderBy("id"),
  ),
  await ids(
    db
      .selectFrom("person")
      .select("id")
      .where(sql.val("math"), "=", (eb) => eb.fn.any("tags"))
      .orderBy("id"),
  ),
  await all(
    db
      .updateTable("person")
      .set({ tags: ["x", 'q"', "{}", "NULL"] })
      .where("id", "=", "person:2")
      .returning("tags"),
  ),
  await all(
    db
      .updateTable("person")
      .set({ tags: sql`array_remove(tags, ${"x"})` })
      .where("id", "=", "person:2")
      .returning("tags"),
  ),
  await all(db.updateTable("person").set({ tags: [] }).where("id", "=", "person:2").returning("tags")),
]);
step("update with returning", async () => [
  await all(
    db.updateTable("post").set({ title: "A better draft", published: true }).where("id", "=", "post:3").returningAll(),
  ),
  await all(
    db
      .updateTable("post")
      .set("views", (eb) => eb("views", "+", 3))
      .where("author_id", "=", "person:2")
      .returning("views"),
  ).then((r) => r.map((x) => +x.views).sort()),
  plain(await db.updateTable("post").set({ title: "x" }).where("id", "=", "nothing").executeTakeFirst()),
  await all(
    db
      .updateTable("post")
      .from("person")
      .set((eb) => ({ title: eb.ref("person.name") }))
      .whereRef("person.id", "=", "post.author_id")
      .where("post.id", "=", "post:1")
      .returning(["post.title", "person.age"]),
  ),
  await all(
    db
      .updateTable("person")
      .set({ balance: 7.125, born: new Date(0) })
      .where("id", "=", "person:3")
      .returning(["balance", "born"]),
  ),
  await all(db.updateTable("person as p").set({ age: 30 }).where("p.id", "=", "person:3").returning("p.age")),
]);
step("on conflict", async () => [
  await all(
    db
      .insertInto("tag")
      .values({ id: "tag:1", label: "x" })
      .onConflict((c) => c.doNothing())
      .returningAll(),
  ),
  await all(
    db
      .insertInto("tag")
      .values({ id: "tag:7", label: "food" })
      .onConflict((c) => c.column("label").doNothing()),
  ),
  await all(
    db
      .insertInto("tag")
      .values({ id: "tag:1", label: "meals" })
      .onConflict((c) => c.column("id").doUpdateSet({ label: (eb) => eb.ref("excluded.label") }))
      .returningAll(),
  ),
  await all(
    db
      .insertInto("tag")
      .values({ id: "tag:8", label: "meals" })
      .onConflict((c) => c.constraint("tag_label").doUpdateSet({ label: "again" }))
      .returningAll(),
  ),
  await all(
    db
      .insertInto("tag")
      .values({ id: "tag:1", label: "z" })
      .onConflict((c) => c.column("id").doUpdateSet({ label: "zz" }).where("tag.label", "!=", "again"))
      .returningAll(),
  ),
  await all(
    db
      .insertInto("post_tag")
      .values(tagged[0])
      .onConflict((c) => c.columns(["post_id", "tag_id"]).doNothing()),
  ),
  await code(() => db.insertInto("tag").values({ id: "tag:1", label: "x" }).execute()),
  await code(() => db.insertInto("tag").values({ id: "tag:20", label: "science" }).execute()),
]);
step("delete", async () => [
  await all(
    db
      .deleteFrom("post_tag")
      .using("tag")
      .whereRef("tag.id", "=", "post_tag.tag_id")
      .where("tag.label", "=", "again")
      .returning("post_tag.id"),
  ).then((r) => r.map((x) => x.id).sort()),
  await all(db.deleteFrom("post_tag").where("id", "=", "nothing")),
  await all(
    db
      .deleteFrom("post_tag")
      .where("post_id", "in", (eb) => eb.selectFrom("post").select("id").where("views", "<", 60)),
  ),
]);
step("transactions", async () => {
  const names = () => ids(db.selectFrom("tag").select("label").orderBy("id"));
  const fell = await code(() =>
    db.transaction().execute(async (tx) => {
      await tx.insertInto("tag").values({ id: "tag:t1", label: "t1" }).execute();
      await tx.insertInto("tag").values({ id: "tag:t1", label: "again" }).execute();
    }),
  );
  const after = await names();
  const tx = await db.startTransaction().setIsolationLevel("repeatable read").execute();
  await tx.insertInto("tag").values({ id: "tag:t2", label: "t2" }).execute();
  const saved = await tx.savepoint("a").execute();
  await saved.insertInto("tag").values({ id: "tag:t3", label: "t3" }).execute();
  const again = await code(() => saved.insertInto("tag").values({ id: "tag:t3", label: "t3" }).execute());
  await saved.rollbackToSavepoint("a").execute();
  const second = await saved.savepoint("b").execute();
  await second.insertInto("tag").values({ id: "tag:t4", label: "t4" }).execute();
  await second.releaseSavepoint("b").execute();
  await tx.commit().execute();
  const ro = await code(() =>
    db
      .transaction()
      .setAccessMode("read only")
      .execute((t) => t.deleteFrom("tag").execute()),
  );
  const locked = await db
    .transaction()
    .execute((t) => t.selectFrom("tag").selectAll().where("id", "=", "tag:2").forUpdate().skipLocked().execute());
  return [fell, after, again, await names(), ro, locked, await all(db.deleteFrom("tag").where("label", "like", "t_"))];
});
step("streams", async () => {
  const got = [];
  for await (const row of db.selectFrom("post").select("id").orderBy("id").stream(2)) got.push(row.id);
  for await (const row of db.selectFrom("post").select("title").orderBy("id").stream(1)) {
    got.push(row.title);
    break;
  }
  return got;
});
step("names in camel case", async () =>
  all(db.withPlugin(new CamelCasePlugin()).selectFrom("post").select(["authorId", "createdAt"]).orderBy("id").limit(2)),
);
step("introspection", async () =>
  (await db.introspection.getTables())
    .filter((t) => t.schema === "public")
    .map((t) => [
      t.name,
      t.isView,
      t.columns.map((c) => [
        c.name,
        c.dataType,
        c.isNullable,
        c.isAutoIncrementing,
        c.name !== "id" && c.hasDefaultValue,
      ]),
    ]),
);
step("explain", async () => (await db.selectFrom("person").selectAll().explain()).length > 0);
step("errors", async () => [
  await code(() => db.selectFrom("nothing").selectAll().execute()),
  await code(() => db.selectFrom("person").select("nothing").execute()),
  await code(() => db.selectFrom("person").select("id").where("age", "=", "abc").execute()),
  await code(() => db.selectFrom("person").select("id").where("nofn", "=", 1).execute()),
]);
step("what is refused", () =>
  refused({
    "create table": () => db.schema.createTable("x").addColumn("id", "serial").execute(),
    "alter table": () => db.schema.alterTable("person").addColumn("extra", "integer").execute(),
    "create index": () => db.schema.createIndex("i").on("person").column("age").execute(),
    "drop table": () => db.schema.dropTable("tag").ifExists().execute(),
    merge: () => db.mergeInto("tag as t").using("post as p", "t.id", "p.id").whenMatched().thenDelete().execute(),
    "with a write": () =>
      db
        .with("w", (q) => q.insertInto("tag").values({ id: "tag:w", label: "w" }).returning("id"))
        .selectFrom("w")
        .selectAll()
        .execute(),
  }),
);

await run(() => db.destroy());
