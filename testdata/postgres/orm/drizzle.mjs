// Drives a server with Drizzle over node-postgres, unchanged.
import {
  and,
  arrayContained,
  arrayContains,
  arrayOverlaps,
  asc,
  avg,
  avgDistinct,
  between,
  count,
  countDistinct,
  desc,
  eq,
  exists,
  getTableColumns,
  gt,
  gte,
  ilike,
  inArray,
  isNotNull,
  isNull,
  like,
  lt,
  lte,
  max,
  min,
  ne,
  not,
  notBetween,
  notExists,
  notIlike,
  notInArray,
  notLike,
  or,
  relations,
  sql,
  sum,
} from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import {
  alias,
  bigint,
  boolean,
  doublePrecision,
  except,
  intersect,
  jsonb,
  numeric,
  pgTable,
  pgView,
  text,
  timestamp,
  union,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import pg from "pg";
import { code, labels, options, people, posts, refused, run, step, tagged } from "./answers.mjs";

const int = (name) => bigint(name, { mode: "number" });
const at = (name) => timestamp(name, { withTimezone: true });
const person = pgTable("person", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  email: text("email").unique("person_email"),
  age: int("age"),
  score: doublePrecision("score"),
  balance: numeric("balance"),
  active: boolean("active").notNull().default(true),
  born: at("born"),
  tags: text("tags").array(),
  meta: jsonb("meta"),
  boss_id: text("boss_id"),
});
const post = pgTable("post", {
  id: text("id")
    .primaryKey()
    .default(sql`DEFAULT`),
  title: text("title").notNull(),
  author_id: text("author_id").references(() => person.id),
  views: int("views").notNull().default(0),
  published: boolean("published").notNull().default(false),
  created_at: at("created_at"),
  updated_at: at("updated_at").$onUpdate(() => new Date(Date.UTC(2024, 5, 1))),
  deleted_at: at("deleted_at"),
});
const tag = pgTable("tag", { id: text("id").primaryKey(), label: text("label").notNull().unique("tag_label") });
const postTag = pgTable(
  "post_tag",
  {
    id: text("id").primaryKey(),
    post_id: text("post_id")
      .notNull()
      .references(() => post.id),
    tag_id: text("tag_id")
      .notNull()
      .references(() => tag.id),
  },
  (t) => [uniqueIndex("post_tag_both").on(t.post_id, t.tag_id)],
);
const schema = {
  person,
  post,
  tag,
  postTag,
  personRelations: relations(person, ({ one, many }) => ({
    posts: many(post),
    boss: one(person, { fields: [person.boss_id], references: [person.id], relationName: "boss" }),
    staff: many(person, { relationName: "boss" }),
  })),
  postRelations: relations(post, ({ one, many }) => ({
    author: one(person, { fields: [post.author_id], references: [person.id] }),
    postTags: many(postTag),
  })),
  tagRelations: relations(tag, ({ many }) => ({ postTags: many(postTag) })),
  postTagRelations: relations(postTag, ({ one }) => ({
    post: one(post, { fields: [postTag.post_id], references: [post.id] }),
    tag: one(tag, { fields: [postTag.tag_id], references: [tag.id] }),
  })),
};
const pool = new pg.Pool({ ...options, max: 3 });
const db = drizzle(pool, { schema });
const only = (rows) => rows.map((r) => Object.values(r)[0]);

step("insert of one row and of many, with returning", async () => [
  await db.insert(person).values(people[0]).returning(),
  await db.insert(person).values(people.slice(1)).returning({ id: person.id, years: person.age }),
  (await db.insert(post).values(posts)).rowCount,
  await db.insert(tag).values(labels).returning(),
  await db.insert(postTag).values(tagged).returning({ id: postTag.id }),
]);
step("insert of what a query answers", async () => [
  await db
    .insert(tag)
    .select(
      db
        .select({ id: sql`'tag:of_' || lower(left(${person.name}, 3))`.as("id"), label: person.name })
        .from(person)
        .where(eq(person.age, 29)),
    )
    .returning(),
  await db.delete(tag).where(like(tag.id, "tag:of\\_%")).returning({ label: tag.label }),
]);
step("select of everything", () => db.select().from(person).orderBy(person.id));
step("select of columns, nested and computed ones", async () => [
  await db
    .select({ id: person.id, called: person.name, of: { years: person.age, active: person.active } })
    .from(person)
    .orderBy(asc(person.id)),
  await db
    .select({ low: sql`lower(${person.name})`.as("low"), n: sql`coalesce(${person.age}, 0) + 1`.mapWith(Number) })
    .from(person)
    .orderBy(sql`low`),
  await db
    .select({ ...getTableColumns(tag), size: sql`length(${tag.label})` })
    .from(tag)
    .orderBy(tag.id),
]);
step("conditions", async () => {
  const ids = async (c) => only(await db.select({ id: person.id }).from(person).where(c).orderBy(person.id));
  return [
    await ids(eq(person.age, 29)),
    await ids(ne(person.age, 29)),
    await ids(gt(person.age, 29)),
    await ids(gte(person.age, 36)),
    await ids(lt(person.score, 1)),
    await ids(lte(person.balance, "10.25")),
    await ids(isNull(person.age)),
    await ids(isNotNull(person.email)),
    await ids(inArray(person.age, [29, 36])),
    await ids(inArray(person.id, [])),
    await ids(notInArray(person.age, [29, 36])),
    await ids(notInArray(person.age, [])),
    await ids(between(person.born, new Date("1980-01-01"), new Date("2000-01-01"))),
    await ids(notBetween(person.age, 30, 40)),
    await ids(like(person.name, "%d%")),
    await ids(notLike(person.name, "%o%")),
    await ids(ilike(person.name, "a%")),
    await ids(notIlike(person.name, "%A%")),
    await ids(like(person.name, "%100\\%")),
    await ids(not(eq(person.active, true))),
    await ids(and(eq(person.active, true), or(gt(person.age, 40), isNull(person.age)))),
    await ids(and()),
    await ids(eq(person.active, false)),
    await ids(sql`${person.name} ~* ${"^[a-c]"}`),
    await ids(eq(sql`lower(${person.email})`, "bob@example.com")),
    await ids(eq(person.balance, "0.1")),
  ];
});
step("sub-queries and exists", async () => {
  const busy = db
    .select({ author: post.author_id, total: sum(post.views).as("total") })
    .from(post)
    .groupBy(post.author_id)
    .as("busy");
  return [
    await db
      .select({ name: person.name, total: busy.total })
      .from(person)
      .leftJoin(busy, eq(busy.author, person.id))
      .orderBy(person.id),
    await db
      .select({ id: person.id })
      .from(person)
      .where(
        exists(
          db
            .select({ one: sql`1` })
            .from(post)
            .where(eq(post.author_id, person.id)),
        ),
      )
      .orderBy(person.id),
    await db
      .select({ id: person.id })
      .from(person)
      .where(notExists(db.select().from(post).where(eq(post.author_id, person.id))))
      .orderBy(person.id),
    await db
      .select({ id: person.id })
      .from(person)
      .where(inArray(person.id, db.select({ a: post.author_id }).from(post).where(gt(post.views, 10))))
      .orderBy(person.id),
    await db
      .select({ id: person.id, n: db.$count(post, eq(post.author_id, person.id)) })
      .from(person)
      .orderBy(person.id),
    await db
      .select()
      .from(post)
      .where(eq(post.views, db.select({ m: max(post.views) }).from(post))),
    await db.$count(person),
    await db.$count(person, eq(person.active, true)),
  ];
});
step("joins", async () => {
  const boss = alias(person, "boss");
  const best = db
    .select({ title: post.title })
    .from(post)
    .where(eq(post.author_id, person.id))
    .orderBy(desc(post.views), post.id)
    .limit(1)
    .as("best");
  return [
    await db.select().from(post).innerJoin(person, eq(post.author_id, person.id)).orderBy(post.id).limit(2),
    await db
      .select({ post, author: person })
      .from(post)
      .leftJoin(person, eq(post.author_id, person.id))
      .orderBy(post.id)
      .offset(4),
    await db
      .select({ name: person.name, boss: boss.name })
      .from(person)
      .leftJoin(boss, eq(person.boss_id, boss.id))
      .orderBy(person.id),
    await db
      .select({ id: post.id, name: person.name })
      .from(person)
      .rightJoin(post, and(eq(post.author_id, person.id), gt(post.views, 10)))
      .orderBy(post.id),
    await db
      .select({ label: tag.label, id: postTag.id })
      .from(tag)
      .fullJoin(postTag, eq(postTag.tag_id, tag.id))
      .orderBy(tag.id, postTag.id),
    await db.select({ a: tag.label, b: post.title }).from(tag).crossJoin(post).orderBy(tag.id, post.id).limit(3),
    await db
      .select({ id: person.id, title: best.title })
      .from(person)
      .leftJoinLateral(best, sql`true`)
      .orderBy(person.id),
    await db
      .select({ title: post.title, label: tag.label })
      .from(post)
      .innerJoin(postTag, eq(postTag.post_id, post.id))
      .innerJoin(tag, eq(tag.id, postTag.tag_id))
      .orderBy(post.id, tag.id),
  ];
});
step("relations", async () => [
  await db.query.person.findMany({ with: { posts: true }, orderBy: asc(person.id) }),
  await db.query.post.findMany({
    with: { author: { columns: { name: true } }, postTags: { columns: {}, with: { tag: true } } },
    orderBy: (p, { desc }) => desc(p.id),
  }),
  await db.query.person.findFirst({
    columns: { name: true },
    with: { boss: true, staff: { columns: { name: true }, orderBy: person.name } },
    where: eq(person.id, "person:2"),
  }),
  await db.query.person.findMany({
    columns: { id: true },
    extras: { low: sql`lower(${person.name})`.as("low") },
    with: {
      posts: {
        where: gt(post.views, 5),
        orderBy: [desc(post.views), post.id],
        limit: 1,
        columns: { title: true, created_at: true },
      },
    },
    orderBy: person.id,
    limit: 3,
    offset: 1,
  }),
  (await db.query.person.findFirst({ where: eq(person.id, "nothing") })) ?? "none",
]);
step("order, limit, offset, nulls", async () => [
  only(await db.select({ id: person.id }).from(person).orderBy(desc(person.age), asc(person.id))),
  only(
    await db
      .select({ id: person.id })
      .from(person)
      .orderBy(sql`${person.age} desc nulls last`, person.id)
      .limit(2)
      .offset(1),
  ),
]);
step("aggregates", async () => [
  await db
    .select({
      n: count(),
      ages: count(person.age),
      different: countDistinct(person.age),
      low: min(person.age),
      high: max(person.born),
      s: sum(person.balance),
    })
    .from(person),
  (await db.select({ a: avg(person.age), d: avgDistinct(person.age) }).from(person)).map((r) => [+r.a, +r.d]),
  await db
    .select({ author: post.author_id, n: count(), most: max(post.views) })
    .from(post)
    .groupBy(post.author_id)
    .having(gt(count(), 1))
    .orderBy(post.author_id),
  await db
    .select({
      p: post.published,
      titles: sql`array_agg(${post.title} order by ${post.id})`,
      all: sql`json_agg(json_build_object('t', ${post.title}) order by ${post.id})`,
    })
    .from(post)
    .groupBy(post.published)
    .orderBy(post.published),
  await db.select({ n: sql`count(*) filter (where ${post.views} > 10)::int` }).from(post),
]);
step("distinct", async () => [
  await db.selectDistinct({ age: person.age }).from(person).orderBy(person.age),
  await db
    .selectDistinctOn([post.author_id], { author: post.author_id, id: post.id })
    .from(post)
    .orderBy(post.author_id, desc(post.views), post.id),
]);
step("unions, intersect, except", async () => [
  await union(
    db.select({ name: person.name }).from(person).where(eq(person.age, 29)),
    db.select({ name: tag.label }).from(tag),
  ).orderBy(sql`name`),
  await db
    .select({ id: tag.id })
    .from(tag)
    .unionAll(db.select({ id: tag.id }).from(tag))
    .orderBy(tag.id)
    .limit(4),
  await intersect(db.select({ id: person.id }).from(person), db.select({ id: post.author_id }).from(post)).orderBy(
    sql`id`,
  ),
  await except(db.select({ id: person.id }).from(person), db.select({ id: post.author_id }).from(post)).orderBy(sql`1`),
]);
step("common table expressions", async () => {
  const busy = db.$with("busy").as(
    db
      .select({ author: post.author_id, n: count().as("n") })
      .from(post)
      .groupBy(post.author_id),
  );
  const old = db.$with("old").as(db.select({ id: person.id }).from(person).where(gt(person.age, 40)));
  return [
    await db
      .with(busy)
      .select({ name: person.name, n: busy.n })
      .from(busy)
      .innerJoin(person, eq(person.id, busy.author))
      .orderBy(person.id),
    await db
      .with(old)
      .update(post)
      .set({ title: sql`${post.title} || '!'` })
      .where(inArray(post.author_id, sql`(select id from old)`))
      .returning({ title: post.title }),
    await db
      .with(old)
      .delete(tag)
      .where(inArray(tag.id, sql`(select id from old)`))
      .returning(),
    (
      await db.execute(sql`with recursive below(id, depth) as (select id, 0 from person where id = ${"person:1"} union all
      select p.id, depth + 1 from person p join below on p.boss_id = below.id) select * from below order by depth, id`)
    ).rows,
  ];
});
step("raw queries with bindings", async () => [
  (await db.execute(sql`select ${person.name}, ${1}::int8 + 1 as n from ${person} where ${person.id} = ${"person:1"}`))
    .rows,
  (
    await db.execute(
      sql`select ${sql.identifier("name")} from person where id in (${sql.join([sql`${"person:1"}`, sql`${"person:2"}`], sql`, `)}) order by 1`,
    )
  ).rows,
  (await db.execute(sql.raw("select 1 as one"))).rows,
]);
step("prepared statements and placeholders", async () => {
  const q = db
    .select({ name: person.name })
    .from(person)
    .where(and(eq(person.id, sql.placeholder("id")), gt(person.age, sql.placeholder("age"))))
    .prepare("by_id");
  const put = db
    .insert(tag)
    .values({ id: sql.placeholder("id"), label: sql.placeholder("label") })
    .returning()
    .prepare("put");
  return [
    await q.execute({ id: "person:1", age: 1 }),
    await q.execute({ id: "person:2", age: 100 }),
    await put.execute({ id: "tag:p", label: "p" }),
    await db.delete(tag).where(eq(tag.id, "tag:p")).returning(),
    await db.query.post
      .findMany({ limit: sql.placeholder("n"), columns: { id: true }, orderBy: post.id })
      .prepare("some")
      .execute({ n: 2 }),
  ];
});
step("JSON", async () => [
  await db
    .select({
      city: sql`${person.meta}->>'city'`,
      n: sql`(${person.meta}->>'n')::int`,
      x: sql`${person.meta}#>'{deep,a,2}'`,
    })
    .from(person)
    .orderBy(person.id),
  only(
    await db
      .select({ id: person.id })
      .from(person)
      .where(sql`${person.meta} @> ${JSON.stringify({ city: "London" })}::jsonb`)
      .orderBy(person.id),
  ),
  await db
    .update(person)
    .set({ meta: { a: { b: 1 }, l: [1, "x", null] } })
    .where(eq(person.id, "person:3"))
    .returning({ meta: person.meta }),
  await db
    .update(person)
    .set({ meta: sql`jsonb_set(${person.meta}, '{a,b}', ${JSON.stringify(2)}::jsonb)` })
    .where(eq(person.id, "person:3"))
    .returning({ meta: person.meta }),
  await db.update(person).set({ meta: null }).where(eq(person.id, "person:3")).returning({ meta: person.meta }),
]);
step("arrays", async () => [
  only(
    await db
      .select({ id: person.id })
      .from(person)
      .where(arrayContains(person.tags, ["math"]))
      .orderBy(person.id),
  ),
  only(
    await db
      .select({ id: person.id })
      .from(person)
      .where(arrayContained(person.tags, ["math", "x"]))
      .orderBy(person.id),
  ),
  only(
    await db
      .select({ id: person.id })
      .from(person)
      .where(arrayOverlaps(person.tags, ["poetry", "a,b"]))
      .orderBy(person.id),
  ),
  only(
    await db
      .select({ id: person.id })
      .from(person)
      .where(sql`${"math"} = any(${person.tags})`)
      .orderBy(person.id),
  ),
  await db
    .update(person)
    .set({ tags: sql`array_append(${person.tags}, ${"new"})` })
    .where(eq(person.id, "person:2"))
    .returning({ tags: person.tags }),
  await db
    .update(person)
    .set({ tags: ["x", 'q"', "\\", "{}", "NULL", ""] })
    .where(eq(person.id, "person:2"))
    .returning({ tags: person.tags }),
  await db.update(person).set({ tags: [] }).where(eq(person.id, "person:2")).returning({ tags: person.tags }),
]);
step("update with returning", async () => [
  await db.update(post).set({ title: "A better draft", published: true }).where(eq(post.id, "post:3")).returning(),
  await db
    .update(post)
    .set({ views: sql`${post.views} + 3` })
    .where(eq(post.author_id, "person:2"))
    .returning({ views: post.views })
    .then((r) => only(r).sort()),
  await db
    .update(person)
    .set({ balance: "7.125", age: null, born: new Date(0) })
    .where(eq(person.id, "person:3"))
    .returning(),
  (await db.update(post).set({ title: "x" }).where(eq(post.id, "nothing"))).rowCount,
  await db
    .update(post)
    .set({ title: sql`${post.title} || ' by ' || ${person.name}` })
    .from(person)
    .where(and(eq(post.author_id, person.id), eq(post.id, "post:1")))
    .returning({ title: post.title, name: person.name }),
]);
step("on conflict", async () => [
  await db.insert(tag).values({ id: "tag:1", label: "x" }).onConflictDoNothing().returning(),
  await db.insert(tag).values({ id: "tag:7", label: "food" }).onConflictDoNothing({ target: tag.label }).returning(),
  await db
    .insert(tag)
    .values({ id: "tag:1", label: "meals" })
    .onConflictDoUpdate({ target: tag.id, set: { label: sql`excluded.label` } })
    .returning(),
  await db
    .insert(tag)
    .values([
      { id: "tag:8", label: "meals" },
      { id: "tag:9", label: "new" },
    ])
    .onConflictDoUpdate({ target: tag.label, set: { label: sql`${tag.label} || '+'` } })
    .returning()
    .then((r) => r.sort((a, b) => (a.id < b.id ? -1 : 1))),
  await db
    .insert(tag)
    .values({ id: "tag:9", label: "z" })
    .onConflictDoUpdate({ target: tag.id, set: { label: "zz" }, setWhere: sql`${tag.label} <> 'new'` })
    .returning(),
  await db
    .insert(postTag)
    .values(tagged[0])
    .onConflictDoUpdate({ target: [postTag.post_id, postTag.tag_id], set: { tag_id: "tag:2" } })
    .returning(),
  await code(() => db.insert(tag).values({ id: "tag:1", label: "x" })),
  await code(() => db.insert(tag).values({ id: "tag:10", label: "new" })),
]);
step("delete with returning", async () => [
  await db.delete(tag).where(eq(tag.id, "tag:9")).returning(),
  (await db.delete(tag).where(eq(tag.id, "tag:9"))).rowCount,
]);
step("transactions", async () => {
  const names = async () => only(await db.select({ l: tag.label }).from(tag).orderBy(tag.id));
  const fell = await code(() =>
    db.transaction(async (tx) => {
      await tx.insert(tag).values({ id: "tag:t1", label: "t1" });
      await tx.insert(tag).values({ id: "tag:t1", label: "again" });
    }),
  );
  const rolled = await db
    .transaction(async (tx) => {
      await tx.insert(tag).values({ id: "tag:t1", label: "t1" });
      tx.rollback();
    })
    .catch((e) => e.message);
  const after = await names();
  await db.transaction(
    async (tx) => {
      await tx.insert(tag).values({ id: "tag:t2", label: "t2" });
      await tx
        .transaction(async (inner) => {
          await inner.insert(tag).values({ id: "tag:t3", label: "t3" });
          inner.rollback();
        })
        .catch(() => {});
      await tx.transaction((inner) => inner.insert(tag).values({ id: "tag:t4", label: "t4" }));
      await tx.transaction((inner) => inner.insert(tag).values({ id: "tag:t4", label: "t4" })).catch(() => {});
    },
    { isolationLevel: "repeatable read", accessMode: "read write", deferrable: true },
  );
  const nested = await names();
  const ro = await code(() => db.transaction((tx) => tx.delete(tag), { accessMode: "read only" }));
  const locked = await db.transaction((tx) =>
    tx.select().from(tag).where(eq(tag.id, "tag:2")).for("update", { skipLocked: true }),
  );
  return [fell, rolled, after, nested, ro, locked, (await db.delete(tag).where(like(tag.label, "t_"))).rowCount];
});
step("errors", async () => [
  await code(() => db.execute(sql`select * from nothing`)),
  await code(() => db.select({ x: sql`nothing` }).from(person)),
  await code(() => db.select().from(person).where(eq(person.age, "abc"))),
  await code(() => db.insert(tag).values({ id: "tag:x", label: null })),
]);
step("what is refused", () =>
  refused({
    "create table": () => db.execute(sql`create table x (id serial primary key)`),
    view: () => db.execute(sql`create view v as select 1`),
    "refresh materialized view": () => db.refreshMaterializedView(pgView("v", { id: text("id") }).existing()),
    "with a write": () => {
      const w = db.$with("w").as(db.insert(tag).values({ id: "tag:w", label: "w" }).returning());
      return db.with(w).select().from(w);
    },
  }),
);

await run(() => pool.end());
