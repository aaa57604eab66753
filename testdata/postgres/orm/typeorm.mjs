// Drives a server with TypeORM, unchanged, with entities that have no decorators.
import typeorm from "typeorm";
import { code, labels, options, people, posts, refused, run, step, tagged } from "./answers.mjs";

const {
  And,
  Any,
  ArrayContainedBy,
  ArrayContains,
  ArrayOverlap,
  Between,
  Brackets,
  DataSource,
  EntitySchema,
  Equal,
  ILike,
  In,
  IsNull,
  JsonContains,
  LessThan,
  LessThanOrEqual,
  Like,
  MoreThan,
  MoreThanOrEqual,
  Not,
  NotBrackets,
  Or,
  Raw,
} = typeorm;
const id = { type: "text", primary: true };
const big = { to: (n) => n, from: (n) => (n === null || n === undefined ? n : +n) };
const Person = new EntitySchema({
  name: "Person",
  tableName: "person",
  columns: {
    id,
    name: { type: "text" },
    email: { type: "text", nullable: true, unique: true },
    age: { type: "bigint", nullable: true, transformer: big },
    score: { type: "double precision", nullable: true },
    balance: { type: "numeric", nullable: true },
    active: { type: "boolean", default: true },
    born: { type: "timestamptz", nullable: true },
    tags: { type: "text", array: true, nullable: true },
    meta: { type: "jsonb", nullable: true },
    boss_id: { type: "text", nullable: true },
  },
  relations: {
    boss: {
      type: "many-to-one",
      target: "Person",
      joinColumn: { name: "boss_id" },
      inverseSide: "staff",
      nullable: true,
    },
    staff: { type: "one-to-many", target: "Person", inverseSide: "boss" },
    posts: { type: "one-to-many", target: "Post", inverseSide: "author" },
  },
});
const Post = new EntitySchema({
  name: "Post",
  tableName: "post",
  columns: {
    id,
    title: { type: "text" },
    views: { type: "bigint", default: 0, transformer: big },
    published: { type: "boolean", default: false },
    author_id: { type: "text", nullable: true },
    created_at: { type: "timestamptz", createDate: true, nullable: true },
    updated_at: { type: "timestamptz", updateDate: true, nullable: true },
    deleted_at: { type: "timestamptz", deleteDate: true, nullable: true },
  },
  relations: {
    author: {
      type: "many-to-one",
      target: "Person",
      joinColumn: { name: "author_id" },
      inverseSide: "posts",
      nullable: true,
    },
    links: { type: "one-to-many", target: "PostTag", inverseSide: "post" },
  },
});
const Tag = new EntitySchema({
  name: "Tag",
  tableName: "tag",
  columns: { id, label: { type: "text", unique: true } },
  relations: { links: { type: "one-to-many", target: "PostTag", inverseSide: "tag" } },
});
const PostTag = new EntitySchema({
  name: "PostTag",
  tableName: "post_tag",
  columns: { id, post_id: { type: "text" }, tag_id: { type: "text" } },
  relations: {
    post: { type: "many-to-one", target: "Post", joinColumn: { name: "post_id" }, inverseSide: "links" },
    tag: { type: "many-to-one", target: "Tag", joinColumn: { name: "tag_id" }, inverseSide: "links" },
  },
});
const db = new DataSource({
  type: "postgres",
  host: options.host,
  port: options.port,
  username: options.user,
  password: options.password,
  database: options.database,
  extra: { options: options.options, max: 3 },
  entities: [Person, Post, Tag, PostTag],
  synchronize: false,
  installExtensions: false,
});
await db.initialize();
const person = db.getRepository(Person),
  post = db.getRepository(Post),
  tag = db.getRepository(Tag),
  postTag = db.getRepository(PostTag);

// The times that the server or TypeORM sets are those of the clock.
const plain = (x) => clean(JSON.parse(JSON.stringify(x)));
const clean = (x) => {
  if (Array.isArray(x)) return x.map(clean);
  if (x && typeof x === "object")
    return Object.fromEntries(
      Object.entries(x).map(([k, v]) => [
        k,
        /(created|updated|deleted)_at$/.test(k) && v && !v.startsWith("2024-01") ? "now" : clean(v),
      ]),
    );
  return x;
};
const ids = async (q) => (await q).map((r) => r.id ?? Object.values(r)[0]);

step("the version", async () => (await db.query("SHOW server_version")).length);
step("insert, save of one and of many", async () => [
  plain(await person.save(people[0])),
  plain((await person.insert(people.slice(1))).identifiers),
  plain(
    (
      await db
        .createQueryBuilder()
        .insert()
        .into(Post)
        .values(posts.map((p) => ({ ...p, updated_at: p.created_at })))
        .returning(["id", "views", "published"])
        .execute()
    ).raw,
  ),
  plain(await tag.save(tag.create(labels))),
  plain((await postTag.insert(tagged)).identifiers.length),
  plain(await tag.save({ id: "tag:s", label: "saved" })),
  plain(await tag.save({ id: "tag:s", label: "saved again" })),
  plain(await tag.remove(await tag.findOneBy({ id: "tag:s" }))),
  plain((await post.insert({ id: "post:d", title: "Defaults" })).generatedMaps),
  (await post.delete("post:d")).affected,
]);
step("find, findBy, findOne", async () => [
  plain(await person.find({ order: { id: "ASC" } })),
  plain(await person.findOneBy({ id: "person:2" })),
  await person.findOneBy({ id: "nothing" }),
  plain(await person.find({ select: { id: true, name: true }, where: { active: true }, order: { name: "DESC" } })),
  await code(() => person.findOneByOrFail({ name: "Zed" })),
  await person.existsBy({ name: "Ada" }),
  await person.exists({ where: { name: "Zed" } }),
]);
step("conditions", async () => {
  const w = (where) => ids(person.find({ where, select: { id: true }, order: { id: "ASC" } }));
  return [
    await w({ age: 29 }),
    await w({ age: 29, active: false }),
    await w({ age: Not(29) }),
    await w({ age: MoreThan(29) }),
    await w({ age: MoreThanOrEqual(36) }),
    await w({ score: LessThan(1) }),
    await w({ balance: LessThanOrEqual("10.25") }),
    await w({ age: In([29, 36]) }),
    await w({ age: Not(In([29, 36])) }),
    await w({ age: In([]) }),
    await w({ age: Between(30, 40) }),
    await w({ age: Not(Between(30, 40)) }),
    await w({ born: Between(new Date("1980-01-01"), new Date("2000-01-01")) }),
    await w({ age: IsNull() }),
    await w({ email: Not(IsNull()) }),
    await w({ name: Like("%d%") }),
    await w({ name: Not(Like("%o%")) }),
    await w({ name: ILike("a%") }),
    await w({ id: Any(["person:1", "person:3"]) }),
    await w([{ age: LessThan(30) }, { age: MoreThan(40) }]),
    await w({ age: And(MoreThan(29), LessThan(41)) }),
    await w({ age: Or(Equal(36), IsNull()) }),
    await w({ email: Raw((a) => `lower(${a}) = :e`, { e: "bob@example.com" }) }),
    await w({ tags: ArrayContains(["math"]) }),
    await w({ tags: ArrayOverlap(["poetry", "a,b"]) }),
    await w({ tags: ArrayContainedBy(["math", "x"]) }),
    await w({ meta: JsonContains({ city: "London" }) }),
    await w({ posts: { title: "Bread" } }),
    await w({ boss: { name: "Ada" } }),
  ];
});
step("relations", async () => [
  plain(await person.find({ relations: { posts: true }, order: { id: "ASC", posts: { id: "DESC" } } })),
  plain(
    await post.find({
      relations: { author: { boss: true }, links: { tag: true } },
      order: { id: "ASC", links: { id: "ASC" } },
    }),
  ),
  plain(
    await person.find({ relations: { posts: true, staff: true }, relationLoadStrategy: "query", order: { id: "ASC" } }),
  ),
  plain(
    await post.find({
      relations: { author: true },
      select: { id: true, author: { name: true } },
      where: { author: { age: MoreThan(40) } },
      order: { id: "ASC" },
    }),
  ),
  plain(
    await person.find({
      relations: { posts: true },
      select: { id: true, posts: { id: true, views: true } },
      order: { id: "ASC", posts: { views: "DESC", id: "ASC" } },
      take: 2,
      skip: 0,
    }),
  ),
  plain(await person.find({ loadRelationIds: { relations: ["posts"] }, select: { id: true }, order: { id: "ASC" } })),
  plain(await person.findOne({ where: { id: "person:2" }, relations: { boss: true, staff: true } })),
]);
step("the query builder: joins", async () => [
  plain(
    await post
      .createQueryBuilder("p")
      .leftJoinAndSelect("p.author", "a")
      .where("p.views > :n", { n: 5 })
      .orderBy("p.id")
      .getMany(),
  ),
  plain(
    await person
      .createQueryBuilder("u")
      .innerJoinAndSelect("u.posts", "p", "p.published = :y", { y: true })
      .orderBy("u.id")
      .addOrderBy("p.id")
      .getMany(),
  ),
  plain(
    await person
      .createQueryBuilder("u")
      .leftJoin("u.boss", "b")
      .select("u.name", "name")
      .addSelect("b.name", "boss")
      .orderBy("u.id")
      .getRawMany(),
  ),
  plain(
    await person
      .createQueryBuilder("u")
      .leftJoin(Post, "p", "p.author_id = u.id")
      .select(["u.id AS id", "COUNT(p.id) AS n"])
      .groupBy("u.id")
      .orderBy("u.id")
      .getRawMany(),
  ),
  plain(
    await person
      .createQueryBuilder("u")
      .leftJoinAndMapOne(
        "u.best",
        Post,
        "p",
        "p.author_id = u.id AND p.views = (SELECT max(views) FROM post WHERE author_id = u.id)",
      )
      .orderBy("u.id")
      .limit(1)
      .getMany(),
  ),
  plain(await db.createQueryBuilder().relation(Person, "posts").of("person:2").loadMany())
    .map((p) => p.id)
    .sort(),
  plain(
    (await person.createQueryBuilder("u").leftJoinAndSelect("u.posts", "p").orderBy("u.id").getRawAndEntities()).raw
      .length,
  ),
]);
step("the query builder: conditions", async () => {
  const q = () => person.createQueryBuilder("u").select("u.id").orderBy("u.id");
  return [
    await ids(
      q()
        .where("u.name = :n", { n: "Ada" })
        .orWhere("u.age IN (:...a)", { a: [29, 41] })
        .getMany(),
    ),
    await ids(
      q()
        .where(new Brackets((b) => b.where("u.age < 30").orWhere("u.age > 40")))
        .andWhere("u.active = true")
        .getMany(),
    ),
    await ids(
      q()
        .where(new NotBrackets((b) => b.where("u.age < 30")))
        .getMany(),
    ),
    await ids(
      q()
        .where("u.id = ANY(:list)", { list: ["person:1", "person:2"] })
        .getMany(),
    ),
    await ids(q().whereInIds(["person:1", "person:4"]).getMany()),
    await ids(
      q()
        .where({ age: In([29]), active: false })
        .getMany(),
    ),
    await ids(
      q()
        .where((b) => "u.id IN " + b.subQuery().select("p.author_id").from(Post, "p").where("p.views > :n").getQuery())
        .setParameter("n", 10)
        .getMany(),
    ),
    await ids(
      q()
        .where((b) => "EXISTS " + b.subQuery().select("1").from(Post, "p").where("p.author_id = u.id").getQuery())
        .getMany(),
    ),
    await ids(q().where("NOT EXISTS (SELECT 1 FROM post p WHERE p.author_id = u.id)").getMany()),
  ];
});
step("order, take, skip, counts", async () => [
  plain(await post.findAndCount({ where: { views: MoreThan(1) }, order: { id: "ASC" }, take: 2, skip: 1 })),
  plain(
    await person
      .createQueryBuilder("u")
      .leftJoinAndSelect("u.posts", "p")
      .orderBy("u.id")
      .addOrderBy("p.id")
      .take(2)
      .skip(1)
      .getManyAndCount(),
  ),
  await person.count(),
  await person.countBy({ active: true }),
  await person.createQueryBuilder("u").innerJoin("u.posts", "p").getCount(),
  await ids(person.find({ order: { age: { direction: "DESC", nulls: "LAST" }, id: "ASC" }, select: { id: true } })),
  await ids(
    person
      .createQueryBuilder("u")
      .orderBy("u.age", "ASC", "NULLS FIRST")
      .addOrderBy("u.id")
      .limit(2)
      .offset(1)
      .getMany(),
  ),
  await person.createQueryBuilder("u").where("u.name = 'Ada'").getExists(),
]);
step("aggregates", async () => [
  plain(
    await post
      .createQueryBuilder("p")
      .select("p.author_id", "author")
      .addSelect("COUNT(*)", "n")
      .addSelect("MAX(p.views)", "most")
      .groupBy("p.author_id")
      .having("COUNT(*) > :n", { n: 1 })
      .orderBy("author")
      .getRawMany(),
  ),
  await post.sum("views"),
  await person.average("age"),
  await person.minimum("age"),
  await person.maximum("score", { active: true }),
  plain(
    await person
      .createQueryBuilder("u")
      .select("COUNT(DISTINCT u.age)", "n")
      .addSelect("SUM(u.balance)", "s")
      .getRawOne(),
  ),
  plain(await person.createQueryBuilder("u").select("u.age", "age").distinct(true).orderBy("age").getRawMany()),
  plain(
    await post
      .createQueryBuilder("p")
      .distinctOn(["p.author_id"])
      .select(["p.id", "p.author_id"])
      .orderBy("p.author_id")
      .addOrderBy("p.views", "DESC")
      .addOrderBy("p.id")
      .getMany(),
  ),
]);
step("sub-queries in FROM and SELECT, common table expressions", async () => [
  plain(
    await db
      .createQueryBuilder()
      .select("t.author", "author")
      .addSelect("t.total", "total")
      .from(
        (q) =>
          q.select("p.author_id", "author").addSelect("SUM(p.views)", "total").from(Post, "p").groupBy("p.author_id"),
        "t",
      )
      .where("t.total > 50")
      .orderBy("author")
      .getRawMany(),
  ),
  plain(
    await person
      .createQueryBuilder("u")
      .select("u.id", "id")
      .addSelect((q) => q.select("COUNT(*)").from(Post, "p").where("p.author_id = u.id"), "n")
      .orderBy("u.id")
      .getRawMany(),
  ),
  plain(
    await db
      .createQueryBuilder()
      .addCommonTableExpression(
        post.createQueryBuilder("p").select("p.author_id", "author").addSelect("COUNT(*)", "n").groupBy("p.author_id"),
        "busy",
      )
      .select("u.name", "name")
      .addSelect("busy.n", "n")
      .from("busy", "busy")
      .innerJoin(Person, "u", "u.id = busy.author")
      .orderBy("u.id")
      .getRawMany(),
  ),
]);
step("raw queries with bindings", async () => [
  await db.query("SELECT name, $1::int8 + 1 AS n FROM person WHERE id = $2", [4, "person:1"]),
  await db.query("SELECT id FROM person WHERE id = ANY($1) ORDER BY id", [["person:1", "person:3"]]),
  await db.query("UPDATE post SET views = views WHERE id = 'post:1' RETURNING id"),
  await db.query("DELETE FROM post WHERE id = 'nothing'"),
  await db.sql`SELECT name FROM person WHERE age > ${36}`,
]);
step("update, increment, returning", async () => {
  const p = await post.findOneBy({ id: "post:3" });
  p.title = "A better draft";
  p.published = true;
  const saved = plain(await post.save(p));
  return [
    saved,
    (await post.update({ author_id: "person:2" }, { title: () => "title || '!'" })).affected,
    (await post.increment({ id: "post:1" }, "views", 5)).affected,
    (await post.decrement({ id: "post:1" }, "views", 2)).affected,
    plain(
      (
        await db
          .createQueryBuilder()
          .update(Post)
          .set({ views: () => "views + 1" })
          .where("id = :id", { id: "post:1" })
          .returning("*")
          .execute()
      ).raw,
    ),
    (await post.update("nothing", { title: "x" })).affected,
    plain(
      (
        await person
          .createQueryBuilder()
          .update()
          .set({ balance: "7.125", born: new Date(0), tags: ["x", 'q"', "{}"], meta: { a: [1, null] } })
          .where({ id: "person:3" })
          .returning(["balance", "born", "tags", "meta"])
          .execute()
      ).raw,
    ),
    plain(await person.preload({ id: "person:3", name: "Cleo II" })).name,
    (await person.update("person:3", { tags: null, meta: null, born: null })).affected,
    plain(await person.findOneBy({ id: "person:3" })),
  ];
});
step("relations are changed", async () => {
  await db.createQueryBuilder().relation(Post, "author").of("post:6").set("person:5");
  const a = (await post.findOneBy({ id: "post:6" })).author_id;
  await db.createQueryBuilder().relation(Person, "posts").of("person:5").remove("post:6");
  const b = await post.findOneBy({ id: "post:6" });
  await person.save({ id: "person:7", name: "Gus", boss: { id: "person:1" } });
  const c = plain(await person.findOne({ where: { id: "person:7" }, relations: { boss: true } }));
  return [a, b.author_id, c.boss.name, (await person.delete({ id: "person:7" })).affected];
});
step("upsert", async () => [
  plain((await tag.upsert({ id: "tag:1", label: "meals" }, ["id"])).identifiers),
  plain(
    (
      await tag.upsert(
        [
          { id: "tag:1", label: "food" },
          { id: "tag:5", label: "fresh" },
        ],
        { conflictPaths: ["id"], skipUpdateIfNoValuesChanged: true },
      )
    ).identifiers,
  ),
  plain((await postTag.upsert({ ...tagged[0], id: tagged[0].id }, ["post_id", "tag_id"])).identifiers),
  plain(
    (
      await db
        .createQueryBuilder()
        .insert()
        .into(Tag)
        .values({ id: "tag:1", label: "x" })
        .orIgnore()
        .returning("id")
        .execute()
    ).raw,
  ),
  plain(
    (
      await db
        .createQueryBuilder()
        .insert()
        .into(Tag)
        .values({ id: "tag:1", label: "meals" })
        .orUpdate(["label"], ["id"])
        .returning("*")
        .execute()
    ).raw,
  ),
  plain(await tag.find({ order: { id: "ASC" } })),
  await code(() => tag.insert({ id: "tag:1", label: "x" })),
  await code(() => tag.insert({ id: "tag:9", label: "meals" })),
  await code(() => tag.insert({ id: "tag:9" })),
]);
step("delete, soft delete and restore", async () => [
  (await tag.delete({ id: "tag:5" })).affected,
  (await tag.delete(["nothing"])).affected,
  plain(
    (
      await db
        .createQueryBuilder()
        .delete()
        .from(PostTag)
        .where("post_id = :p", { p: "post:5" })
        .returning("tag_id")
        .execute()
    ).raw,
  )
    .map((r) => r.tag_id)
    .sort(),
  (await post.softDelete("post:6")).affected,
  await post.findOneBy({ id: "post:6" }),
  plain(await post.findOne({ where: { id: "post:6" }, withDeleted: true })),
  await post.count(),
  (await post.restore("post:6")).affected,
  await post.count(),
  plain(await post.softRemove(await post.findOneBy({ id: "post:6" }))).deleted_at,
  plain(await post.recover(await post.findOne({ where: { id: "post:6" }, withDeleted: true }))).deleted_at,
]);
step("transactions", async () => {
  const names = async () => (await tag.find({ order: { id: "ASC" } })).map((t) => t.label);
  const fell = await code(() =>
    db.transaction(async (m) => {
      await m.insert(Tag, { id: "tag:t1", label: "t1" });
      await m.insert(Tag, { id: "tag:t1", label: "again" });
    }),
  );
  const after = await names();
  await db.transaction("REPEATABLE READ", async (m) => {
    await m.save(Tag, { id: "tag:t2", label: "t2" });
    await m
      .transaction(async (inner) => {
        await inner.save(Tag, { id: "tag:t3", label: "t3" });
        await inner.insert(Tag, { id: "tag:t3", label: "t3" });
      })
      .catch(() => {});
    await m.transaction((inner) => inner.save(Tag, { id: "tag:t4", label: "t4" }));
  });
  const qr = db.createQueryRunner();
  await qr.startTransaction();
  await qr.manager.delete(Tag, { id: "tag:t4" });
  const locked = await qr.manager.findOne(Tag, { where: { id: "tag:2" }, lock: { mode: "pessimistic_write" } });
  const more = await qr.manager
    .createQueryBuilder(Tag, "t")
    .setLock("pessimistic_read")
    .setOnLocked("skip_locked")
    .where("t.id = 'tag:2'")
    .getOne();
  await qr.rollbackTransaction();
  await qr.release();
  return [fell, after, plain(locked), plain(more), await names(), (await tag.delete({ label: Like("t_") })).affected];
});
step("streams", async () => {
  const got = [];
  for await (const row of await post.createQueryBuilder("p").select(["p.id"]).orderBy("p.id").stream()) got.push(row);
  return got;
});
step("introspection", async () => {
  const qr = db.createQueryRunner();
  const t = await qr.getTable("person"),
    l = await qr.getTable("post_tag"),
    o = await qr.getTable("post");
  const answer = [
    t.name,
    t.columns.map((c) => [c.name, c.type, c.isNullable, c.isPrimary, c.isArray, c.isUnique, c.isGenerated]),
    t.uniques.map((u) => [u.name, u.columnNames]),
    t.foreignKeys.map((f) => [f.columnNames, f.referencedTableName, f.referencedColumnNames]),
    l.uniques.map((u) => [u.name, u.columnNames]),
    o.indices.map((i) => [i.name, i.columnNames, i.isUnique]),
    await qr.hasTable("tag"),
    await qr.hasTable("nothing"),
    await qr.hasColumn("tag", "label"),
    await qr.getCurrentSchema(),
    (await qr.getTables(["tag"])).length,
  ];
  await qr.release();
  return answer;
});
step("errors", async () => [
  await code(() => db.query("SELECT * FROM nothing")),
  await code(() => person.createQueryBuilder("u").where("u.nothing = 1").getMany()),
  await code(() => person.findBy({ age: MoreThan("abc") })),
  await code(() => db.query("SELECT FROM WHERE")),
]);
step("what is refused", () =>
  refused({
    synchronize: () => db.synchronize(true),
    migrations: () => db.runMigrations(),
    "create table": () => db.query("CREATE TABLE x (id serial)"),
    "drop column": () => db.createQueryRunner().dropColumn("tag", "label"),
  }),
);
step("clear", async () => {
  await postTag.clear();
  return postTag.count();
});

await run(() => db.destroy());
