// Drives a server with knex, unchanged.
import knex from "knex";
import { code, labels, options, people, posts, refused, run, step, tagged } from "./answers.mjs";

const db = knex({ client: "pg", connection: options, pool: { min: 0, max: 4 } });
const stringified = (p) => ({ ...p, meta: p.meta && JSON.stringify(p.meta) });

step("insert of one row and of many, with returning", async () => [
  await db("person").insert(stringified(people[0])).returning("*"),
  await db("person").insert(people.slice(1).map(stringified), ["id", "name", "age"]),
  await db.batchInsert("post", posts, 2).returning(["id", "views"]),
  (await db("tag").insert(labels)).rowCount,
  await db("post_tag").insert(tagged).returning("id"),
]);
step("insert without an id, and of defaults", async () => {
  const [row] = await db("post").insert({ title: "Made" }).returning("*");
  const n = await db("post").where({ id: row.id }).del();
  return [{ ...row, id: row.id.startsWith("post:") }, n];
});
step("select of everything", () => db.select().from("person").orderBy("id"));
step("select of columns, aliases, first and pluck", async () => [
  await db("person").select("id", "name as called", { years: "age" }).orderBy("id"),
  await db("person").where("id", "person:2").first(),
  (await db("person").where("id", "nothing").first()) ?? "none",
  await db("person").orderBy("name", "desc").pluck("name"),
]);
step("conditions", async () => {
  const names = (f) => db("person").where(f).orderBy("id").pluck("name");
  return [
    await names((q) => q.where({ age: 29, active: false })),
    await names((q) => q.where("age", ">", 29).andWhere("age", "<=", 41)),
    await names((q) => q.whereIn("age", [29, 36])),
    await names((q) => q.whereNotIn("age", [29, 36])),
    await names((q) => q.whereIn("id", [])),
    await names((q) => q.whereBetween("age", [30, 40])),
    await names((q) => q.whereNotBetween("age", [30, 40])),
    await names((q) => q.whereNull("age")),
    await names((q) => q.whereNotNull("email")),
    await names((q) => q.whereLike("name", "%d%")),
    await names((q) => q.whereILike("name", "A%")),
    await names((q) => q.where("name", "like", "%100\\%")),
    await names((q) => q.where("name", "not like", "%o%")),
    await names((q) => q.where("name", "~*", "^[a-c]")),
    await names((q) => q.whereNot("active", true)),
    await names((q) => q.where("active", true).orWhere((r) => r.where("age", "<", 30).whereNotNull("born"))),
    await names((q) => q.where("born", "<", new Date("1990-01-01"))),
    await names((q) => q.where("balance", ">", "1.5")),
    await names((q) => q.where("balance", 0.1)),
    await names((q) => q.where("score", "<", 1)),
    await names((q) => q.whereRaw("lower(email) = ?", ["bob@example.com"])),
    await names((q) => q.whereColumn("name", "<", "email")),
    await names((q) =>
      q.whereIn(
        ["age", "active"],
        [
          [29, false],
          [41, true],
        ],
      ),
    ),
    await names((q) => q.where("age", "is", null)),
    await names((q) => q.whereRaw("age is distinct from ?", [29])),
  ];
});
step("sub-queries and exists", async () => [
  await db("person")
    .whereIn("id", db("post").select("author_id").where("views", ">", 10))
    .orderBy("id")
    .pluck("id"),
  await db("person")
    .whereNotIn("id", db("post").select("author_id").whereNotNull("author_id"))
    .orderBy("id")
    .pluck("id"),
  await db("person as p")
    .whereExists(db("post").select(db.raw("1")).whereRaw("post.author_id = p.id"))
    .orderBy("id")
    .pluck("id"),
  await db("person as p")
    .whereNotExists(function () {
      this.select("*").from("post").whereColumn("post.author_id", "p.id");
    })
    .orderBy("id")
    .pluck("id"),
  await db("person as p")
    .select("p.id", db("post").count("*").whereColumn("author_id", "p.id").as("n"))
    .orderBy("n", "desc")
    .orderBy("p.id"),
  await db
    .from(db("post").select("author_id").sum("views as total").groupBy("author_id").as("t"))
    .where("total", ">", 50)
    .select("*")
    .orderBy("author_id"),
  await db("person").where("age", "=", db("person").max("age")).pluck("name"),
]);
step("joins", async () => [
  await db("post").join("person", "post.author_id", "person.id").select("post.title", "person.name").orderBy("post.id"),
  await db("post")
    .leftJoin("person as a", "a.id", "post.author_id")
    .select("post.id", "a.*")
    .orderBy("post.id")
    .limit(2)
    .offset(4),
  await db("person as p")
    .leftJoin("person as b", "p.boss_id", "b.id")
    .select("p.name", "b.name as boss")
    .orderBy("p.id"),
  await db("person as p")
    .rightJoin("post as o", function () {
      this.on("o.author_id", "p.id").andOn("o.views", ">", db.raw("?", [10]));
    })
    .select("o.id", "p.name")
    .orderBy("o.id"),
  await db("post")
    .join("post_tag", { "post_tag.post_id": "post.id" })
    .join("tag", "tag.id", "post_tag.tag_id")
    .select("post.title", "tag.label")
    .orderBy(["post.title", { column: "tag.label", order: "desc" }]),
  await db("tag").fullOuterJoin("post_tag", "post_tag.tag_id", "tag.id").count("* as n").first(),
  await db("tag as a")
    .crossJoin("tag as b")
    .where("a.id", "<", db.ref("b.id"))
    .select("a.label", "b.label as other")
    .orderBy(["a.id", "b.id"]),
  await db("person as p")
    .joinRaw("join lateral (select title from post where author_id = p.id order by views desc limit 1) t on true")
    .select("p.id", "t.title")
    .orderBy("p.id"),
]);
step("order, limit, offset, nulls", async () => [
  await db("person").orderBy("age", "asc", "first").orderBy("id").pluck("id"),
  await db("person")
    .orderBy([{ column: "age", order: "desc", nulls: "last" }, { column: "id" }])
    .limit(2)
    .offset(1)
    .pluck("id"),
  await db("person").orderByRaw("length(name) desc, id").pluck("id"),
]);
step("pages with counts", async () => {
  const all = db("post").where("views", ">", 1);
  const [{ count }] = await all.clone().count();
  return [
    count,
    await all.clone().orderBy("id").limit(2).offset(2).pluck("id"),
    await db("post").select("id", db.raw("count(*) over () as total")).orderBy("id").limit(2),
  ];
});
step("aggregates", async () => [
  await db("person").count("* as n").countDistinct("age as ages").min("age").max("age").sum("balance as s").first(),
  +(await db("person").avg("age as a").first()).a,
  await db("post")
    .select("author_id")
    .count("* as n")
    .max("views as most")
    .groupBy("author_id")
    .having("n", ">", 1)
    .orderBy("author_id")
    .catch((e) => e.code),
  await db("post")
    .select("author_id")
    .count("* as n")
    .groupBy("author_id")
    .havingRaw("count(*) > ?", [1])
    .orderBy("author_id"),
  await db("post")
    .select("published")
    .avg("views as v")
    .groupBy("published")
    .orderBy("published")
    .then((r) => r.map((x) => [x.published, +x.v])),
  await db("post").select(db.raw("date_trunc('day', created_at) as day")).groupByRaw("1").orderBy("day").limit(2),
  await db("post")
    .select(db.raw("string_agg(title, ', ' order by id) as titles, array_agg(views order by id) as views"))
    .where("author_id", "person:1"),
]);
step("distinct", async () => [
  await db("person").distinct("age").orderBy("age"),
  await db("post")
    .distinctOn("author_id")
    .select("author_id", "id")
    .orderBy(["author_id", { column: "views", order: "desc" }]),
]);
step("unions, intersect, except", async () => [
  await db("person")
    .select("name")
    .where("age", 29)
    .union([db("tag").select("label")])
    .orderBy("name"),
  await db.unionAll([db("tag").select("id"), db("tag").select("id")], true).orderBy("id"),
  await db("person")
    .select("id")
    .intersect([db("post").select("author_id as id")])
    .orderBy("id"),
  await db("person")
    .select("id")
    .except([db("post").select("author_id as id")])
    .orderBy("id"),
]);
step("common table expressions", async () => [
  await db
    .with("busy", db("post").select("author_id").count("* as n").groupBy("author_id"))
    .select("person.name", "busy.n")
    .from("busy")
    .join("person", "person.id", "busy.author_id")
    .orderBy("person.id"),
  await db
    .withRecursive("below", ["id", "depth"], (q) =>
      q
        .select("id", db.raw("0"))
        .from("person")
        .where("id", "person:1")
        .unionAll((r) =>
          r.select("p.id", db.raw("below.depth + 1")).from("person as p").join("below", "p.boss_id", "below.id"),
        ),
    )
    .select("*")
    .from("below")
    .orderBy("depth")
    .orderBy("id"),
  await db.withMaterialized("m", db("tag").select("label")).from("m").count("*"),
]);
step("window functions", async () => [
  await db("post").select("id").rowNumber("r", "views", "author_id").whereNotNull("author_id").orderBy("id"),
  await db("post")
    .select("id")
    .rank("r", (w) => w.orderBy("views", "desc"))
    .orderBy("id"),
  await db("post").select("id", db.raw("lag(views) over (order by id) as before")).orderBy("id"),
]);
step("raw queries with bindings", async () => [
  (await db.raw("select ?? as x, ?::int8 + 1 as n from ?? where id = ?", ["name", 4, "person", "person:1"])).rows,
  (await db.raw("select :n::text as n, :n::text as m", { n: "x" })).rows,
  (await db.raw("select coalesce(age, 0) as a, case when active then 'yes' else 'no' end as b from person order by id"))
    .rows,
  (await db.select(db.raw("now() > ?::timestamptz as later", [new Date(0)])))[0],
]);
step("functions in raw queries", async () => {
  const rows = async (text, bindings = []) => (await db.raw(text, bindings)).rows;
  return [
    await db("post")
      .where("id", "post:3")
      .update({ updated_at: db.fn.now(6) }),
    await rows("select created_at::date::text as d, (created_at at time zone 'UTC')::text as e from post order by id"),
    await rows("select to_char(created_at, 'YYYY-MM') as m, count(*)::int as n from post group by 1 order by 1"),
    await rows("select id from post where created_at > ?::timestamptz - interval '1 day' order by id", ["2024-01-05"]),
    await rows("select extract(year from born)::int as y, date_part('month', born) as m from person order by id"),
    await rows("select greatest(age, 30) as a, least(score, 1) as b, nullif(age, 29) as c from person order by id"),
    await rows("select concat(name, ' ', age) as a, concat_ws('-', name, null, age) as b from person order by id"),
    await rows(
      "select left(name, 2) as a, lpad(age::text, 5, '0') as b, split_part(email, '@', 1) as c from person order by id",
    ),
    await rows(
      "select regexp_replace(name, '[aeiou]', '*', 'g') as a, initcap(name) as b, md5(name) as c from person order by id",
    ),
    await rows(
      "select bool_and(active) as a, bool_or(active) as b, count(*) filter (where active)::int as c from person",
    ),
    await rows(
      "select cast(age as text) as a, age::float8 as b, name::varchar(2) as c, (score * 1.234)::numeric(9, 1)::float8 as d from person order by id",
    ),
    await rows("select id from person where (age, score) is not null order by id"),
    await rows("update post set (title, views) = (?, ?) where id = 'post:3' returning title, views", ["A draft", 0]),
    await rows("select d::date::text from generate_series(?::timestamptz, ?::timestamptz, '1 day'::interval) d", [
      "2024-01-01",
      "2024-01-03",
    ]),
    await rows("select row_to_json(t) as j, to_jsonb(t) - 'id' as k from tag t order by id"),
    await rows("select pg_typeof(age)::text as a, pg_typeof(meta)::text as b from person limit 1"),
    await rows(
      "select p.id, t.n from person p cross join lateral (select count(*)::int as n from post where author_id = p.id) t order by p.id",
    ),
    await db.transaction(async (t) => {
      await t.raw("set local statement_timeout = 1000");
      return (await t.raw("show statement_timeout")).rows;
    }),
  ];
});
step("JSON", async () => [
  await db("person").select(db.raw("meta->>'city' as city")).whereRaw("meta->>'city' = ?", ["London"]).orderBy("id"),
  await db("person").whereJsonSupersetOf("meta", { city: "London" }).orderBy("id").pluck("id"),
  await db("person").whereJsonObject("meta", {}).pluck("id"),
  await db("person").whereRaw("meta \\? 'langs'").pluck("id"),
  await db("person").select(db.raw("id, k")).joinRaw("cross join jsonb_object_keys(meta) as k").orderBy(["id", "k"]),
  await db("person")
    .select(db.raw("jsonb_array_length(meta->'langs') as n, meta#>>'{langs,1}' as l"))
    .where("id", "person:1"),
  await db("person")
    .where("id", "person:3")
    .update({ meta: JSON.stringify({ a: { b: 1 } }) })
    .returning("meta"),
  await db("person")
    .where("id", "person:3")
    .update({ meta: db.jsonSet("meta", "$.a.b", 2) })
    .returning("meta"),
  await db("person")
    .where("id", "person:3")
    .update({ meta: db.raw("meta || ?::jsonb", [JSON.stringify({ c: true })]) })
    .returning("meta"),
  await db("person")
    .where("id", "person:3")
    .update({ meta: db.jsonRemove("meta", "$.a") })
    .returning("meta"),
  await db("person").where("id", "person:3").update({ meta: null }).returning("meta"),
]);
step("paths of JSON", async () => [
  await db("person").jsonExtract("meta", "$.deep.a[2]", "x").where("id", "person:2"),
  await db("person").jsonExtract("meta", "$.city", "city").orderBy("id"),
  await db("person").whereJsonPath("meta", "$.n", ">", 6).pluck("id"),
  await db("person").whereJsonPath("meta", "$.city", "=", "Paris").pluck("id"),
]);
step("arrays", async () => [
  await db("person").whereRaw("? = any(tags)", ["math"]).orderBy("id").pluck("id"),
  await db("person")
    .whereRaw("tags @> ?", [["math", "poetry"]])
    .pluck("id"),
  await db("person")
    .whereRaw("tags && ?::text[]", [["poetry", "x"]])
    .pluck("id"),
  await db("person")
    .whereRaw("id = any(?)", [["person:1", "person:3"]])
    .orderBy("id")
    .pluck("id"),
  await db("person").select(db.raw("cardinality(tags) as n, array_length(tags, 1) as l, tags[1] as f")).orderBy("id"),
  await db("person").select("id", db.raw("unnest(tags) as t")).orderBy(["id", "t"]),
  await db("person")
    .where("id", "person:2")
    .update({ tags: db.raw("array_append(tags, ?)", ["new"]) })
    .returning("tags"),
  await db("person").where("id", "person:2").update({ tags: [] }).returning("tags"),
]);
step("update, increment, returning", async () => [
  await db("post")
    .where("id", "post:3")
    .update({ title: "A better draft", published: true })
    .returning(["title", "published"]),
  await db("post").where("author_id", "person:2").increment("views", 3),
  await db("post").where("id", "post:1").decrement({ views: 10 }).returning("views"),
  await db("post")
    .where("id", "post:1")
    .update({ views: db.raw("?? + ?", ["views", 10]) })
    .returning("views"),
  await db("person").where("id", "person:2").update("balance", 7.125, "balance"),
  await db("post").where("id", "nothing").update({ title: "x" }),
  await db("post")
    .updateFrom("person")
    .where("post.author_id", db.ref("person.id"))
    .where("person.name", "Bob")
    .update({ title: db.raw("post.title || '!'") })
    .returning("post.title"),
]);
step("on conflict", async () => [
  await db("tag").insert({ id: "tag:1", label: "x" }).onConflict("id").ignore().returning("id"),
  await db("tag").insert({ id: "tag:1", label: "meals" }).onConflict("id").merge().returning("*"),
  (await db("tag").insert({ id: "tag:7", label: "meals" }).onConflict("label").ignore()).rowCount,
  await db("tag").insert({ id: "tag:7", label: "meals" }).onConflict("label").merge({ label: "food" }).returning("*"),
  await db("person")
    .insert([
      { id: "person:1", name: "Ada L", age: 37 },
      { id: "person:6", name: "Fay", age: 3 },
    ])
    .onConflict("id")
    .merge(["name"])
    .returning(["id", "name", "age"])
    .then((r) => r.sort((a, b) => (a.id < b.id ? -1 : 1))),
  await db("person")
    .insert({ id: "person:6", name: "No" })
    .onConflict("id")
    .merge()
    .where("person.age", ">", 100)
    .returning("id"),
  await db("post_tag").insert(tagged[0]).onConflict(["post_id", "tag_id"]).ignore("id"),
  await db("tag").insert({ id: "tag:1", label: "x" }).onConflict().ignore().returning("id"),
  await code(() => db("tag").insert({ id: "tag:1", label: "x" })),
  await code(() => db("tag").insert({ id: "tag:9", label: "food" })),
  await code(() => db("tag").insert({ id: "tag:9" })),
]);
step("delete with returning", async () => [
  await db("person").where("id", "person:6").del("*"),
  await db("person").where("id", "person:6").delete(),
  await db("post").whereIn("author_id", db("person").select("id").where("name", "nothing")).del(),
]);
step("transactions", async () => {
  const names = () => db("tag").orderBy("id").pluck("label");
  const before = await names();
  const fell = await code(() =>
    db.transaction(async (tx) => {
      await tx("tag").insert({ id: "tag:t1", label: "t1" });
      await tx("tag").insert({ id: "tag:t1", label: "again" });
    }),
  );
  const after = await names();
  await db.transaction(async (tx) => {
    await tx("tag").insert({ id: "tag:t2", label: "t2" });
    await tx
      .transaction(async (inner) => {
        await inner("tag").insert({ id: "tag:t3", label: "t3" });
        throw new Error("no");
      })
      .catch(() => {});
    await tx.transaction((inner) => inner("tag").insert({ id: "tag:t4", label: "t4" }));
  });
  const nested = await names();
  const tx = await db.transaction({ isolationLevel: "repeatable read" });
  await tx("tag").where("label", "like", "t_").del();
  await tx.commit();
  const ro = await code(() =>
    db.transaction((t) => t("tag").insert({ id: "tag:ro", label: "ro" }), { readOnly: true }),
  );
  const locked = await db.transaction((t) => t("tag").where("id", "tag:1").forUpdate().select("label"));
  return [before, fell, after, nested, await names(), ro, locked];
});
step("streams", async () => {
  const ids = [];
  for await (const row of db("post").select("id").orderBy("id").stream({ highWaterMark: 2 })) ids.push(row.id);
  return ids;
});
step("introspection", async () => {
  const info = await db("person").columnInfo();
  return [
    await db.schema.hasTable("person"),
    await db.schema.hasTable("nothing"),
    await db.schema.hasColumn("person", "age"),
    await db.schema.hasColumn("person", "nothing"),
    Object.entries(info).map(([k, v]) => [k, v.type, v.nullable, v.maxLength]),
  ];
});
step("errors", async () => [
  await code(() => db("nothing").select()),
  await code(() => db("person").select("nothing")),
  await code(() => db("person").where("age", "abc")),
  await code(() => db.raw("select from where")),
  await code(() => db.raw("select 1/0")),
]);
step("what is refused", () =>
  refused({
    "create table": () =>
      db.schema.createTable("x", (t) => {
        t.increments();
        t.string("name");
      }),
    "alter table": () => db.schema.alterTable("person", (t) => t.integer("extra")),
    "drop table": () => db.schema.dropTableIfExists("tag"),
    migration: () =>
      db.migrate.latest({
        migrationSource: { getMigrations: async () => [], getMigrationName: () => "", getMigration: () => ({}) },
      }),
  }),
);
step("truncate", async () => {
  await db("post_tag").truncate();
  return db("post_tag").count();
});

await run(() => db.destroy());
