// Drives a server with Sequelize, unchanged.
import { DataTypes, Op, QueryTypes, Sequelize, Transaction } from "sequelize";
import { code, labels, options, people, posts, refused, run, step, tagged } from "./answers.mjs";

const db = new Sequelize(options.database, options.user, options.password, {
  host: options.host,
  port: options.port,
  dialect: "postgres",
  logging: false,
  pool: { max: 4 },
  dialectOptions: { options: options.options },
  define: { freezeTableName: true, timestamps: false, underscored: true },
});
const { col, fn, literal, where } = Sequelize;
const T = DataTypes;
const Person = db.define(
  "person",
  {
    id: { type: T.TEXT, primaryKey: true },
    name: { type: T.TEXT, allowNull: false },
    email: { type: T.TEXT, unique: true },
    age: T.BIGINT,
    score: T.DOUBLE,
    balance: T.DECIMAL,
    active: { type: T.BOOLEAN, defaultValue: true },
    born: T.DATE,
    tags: T.ARRAY(T.TEXT),
    meta: T.JSONB,
  },
  { scopes: { active: { where: { active: true } }, older: (n) => ({ where: { age: { [Op.gt]: n } } }) } },
);
const Post = db.define(
  "post",
  {
    id: { type: T.TEXT, primaryKey: true },
    title: { type: T.TEXT, allowNull: false, validate: { len: [1, 50] } },
    views: { type: T.BIGINT, defaultValue: 0 },
    published: { type: T.BOOLEAN, defaultValue: false },
  },
  { timestamps: true, paranoid: true },
);
const Tag = db.define("tag", { id: { type: T.TEXT, primaryKey: true }, label: { type: T.TEXT, unique: true } });
const PostTag = db.define("post_tag", {
  id: { type: T.TEXT, primaryKey: true, defaultValue: () => "post_tag:made" + made++ },
});
let made = 1;
Person.belongsTo(Person, { as: "boss", foreignKey: "bossId" });
Person.hasMany(Person, { as: "staff", foreignKey: "bossId" });
Person.hasMany(Post, { as: "posts", foreignKey: "authorId" });
Post.belongsTo(Person, { as: "author", foreignKey: "authorId" });
Post.belongsToMany(Tag, { through: PostTag, as: "tags", foreignKey: "postId", otherKey: "tagId" });
Tag.belongsToMany(Post, { through: PostTag, as: "posts", foreignKey: "tagId", otherKey: "postId" });

const plain = (x) => {
  const p = JSON.parse(JSON.stringify(x));
  return clean(p);
};
// The times that Sequelize sets are those of the clock.
const clean = (x) => {
  if (Array.isArray(x)) return x.map(clean);
  if (x && typeof x === "object")
    return Object.fromEntries(
      Object.entries(x).map(([k, v]) => [
        k,
        /^(createdAt|updatedAt|deletedAt)$/.test(k) && v && !v.startsWith("2024-01") ? "now" : clean(v),
      ]),
    );
  return x;
};
const ids = async (q) => (await q).map((r) => r.id);
const camel = ({ boss_id, author_id, created_at, post_id, tag_id, ...rest }) =>
  Object.fromEntries(
    Object.entries({
      ...rest,
      bossId: boss_id,
      authorId: author_id,
      createdAt: created_at,
      postId: post_id,
      tagId: tag_id,
    }).filter(([, v]) => v !== undefined),
  );

step("the connection and the version", async () => {
  await db.authenticate();
  return (await db.databaseVersion()).length > 0;
});
step("create, bulkCreate, build and save", async () => [
  plain(await Person.create(camel(people[0]))),
  plain(await Person.bulkCreate(people.slice(1).map(camel))),
  plain(await Post.bulkCreate(posts.map(camel), { returning: ["id", "views"] })),
  plain(await Tag.bulkCreate(labels, { validate: true })),
  plain(await PostTag.bulkCreate(tagged.map(camel))),
  plain(await Tag.build({ id: "tag:b", label: "built" }).save()),
  await Tag.destroy({ where: { id: "tag:b" } }),
]);
step("findAll, findOne, findByPk", async () => [
  plain(await Person.findAll({ order: ["id"] })),
  plain(await Person.findByPk("person:2")),
  await Person.findByPk("nothing"),
  plain(await Person.findOne({ where: { name: "Cleo" }, attributes: ["id", ["name", "called"]] })),
  plain(
    await Person.findAll({
      attributes: { exclude: ["meta", "tags"], include: [[fn("length", col("name")), "size"]] },
      order: [["name", "DESC"]],
      raw: true,
    }),
  ),
  await code(() => Person.findOne({ where: { name: "Zed" }, rejectOnEmpty: true })),
]);
step("conditions", async () => {
  const w = (c) => ids(Person.findAll({ where: c, attributes: ["id"], order: ["id"] }));
  return [
    await w({ age: 29 }),
    await w({ age: 29, active: false }),
    await w({ age: { [Op.ne]: 29 } }),
    await w({ age: { [Op.gt]: 29, [Op.lte]: 41 } }),
    await w({ age: [29, 36] }),
    await w({ age: { [Op.notIn]: [29, 36] } }),
    await w({ age: { [Op.in]: [] } }),
    await w({ age: { [Op.between]: [30, 40] } }),
    await w({ age: { [Op.notBetween]: [30, 40] } }),
    await w({ age: null }),
    await w({ email: { [Op.not]: null } }),
    await w({ active: { [Op.is]: true } }),
    await w({ active: { [Op.not]: true } }),
    await w({ name: { [Op.like]: "%d%" } }),
    await w({ name: { [Op.notLike]: "%o%" } }),
    await w({ name: { [Op.iLike]: "a%" } }),
    await w({ name: { [Op.startsWith]: "A" } }),
    await w({ name: { [Op.endsWith]: "0%" } }),
    await w({ name: { [Op.substring]: "o" } }),
    await w({ name: { [Op.regexp]: "^[A-C]" } }),
    await w({ name: { [Op.iRegexp]: "^[a-c]" } }),
    await w({ name: { [Op.notRegexp]: "a" } }),
    await w({ name: { [Op.like]: { [Op.any]: ["A%", "B%"] } } }),
    await w({ name: { [Op.iLike]: { [Op.any]: ["a%", "b%"] } } }),
    await w({ id: { [Op.any]: ["person:1", "person:3"] } }),
    await w({ [Op.or]: [{ age: { [Op.lt]: 30 } }, { age: { [Op.gt]: 40 } }] }),
    await w({ [Op.and]: [{ active: true }, { [Op.or]: [{ age: { [Op.gt]: 40 } }, { age: null }] }] }),
    await w({ [Op.not]: { age: 29 } }),
    await w({ born: { [Op.lt]: new Date("1990-01-01") } }),
    await w({ balance: { [Op.gt]: "1.5" } }),
    await w({ balance: 0.1 }),
    await w(where(fn("lower", col("email")), "bob@example.com")),
    await w({ name: { [Op.col]: "email" } }),
    await w(literal("age % 2 = 1")),
    await w({ tags: { [Op.contains]: ["math"] } }),
    await w({ tags: { [Op.overlap]: ["poetry", "a,b"] } }),
    await w({ tags: { [Op.contained]: ["math", "x"] } }),
    await w({ name: "e'\\x\"" }),
  ];
});
step("JSON", async () => {
  const w = (c) => ids(Person.findAll({ where: c, attributes: ["id"], order: ["id"] }));
  return [
    await w({ meta: { city: "London" } }),
    await w({ "meta.city": "London" }),
    await w({ meta: { n: { [Op.gt]: 6 } } }),
    await w({ meta: { [Op.contains]: { city: "London" } } }),
    await w({ "meta.deep.a": { [Op.ne]: null } }),
    await w({ meta: { city: { [Op.iLike]: "p%" } } }),
    await w(db.json("meta.city", "Paris")),
    await w({ meta: null }),
    plain(await Person.findAll({ attributes: ["id", [db.json("meta.city"), "city"]], order: ["id"], raw: true })),
    plain(await Person.findAll({ attributes: ["id"], order: [["meta.city", "DESC NULLS LAST"], "id"] })),
    plain(await Person.update({ meta: { a: { b: [1, null, "x"] } } }, { where: { id: "person:3" }, returning: true })),
    plain(await Person.update({ meta: null }, { where: { id: "person:3" }, returning: ["id", "meta"] })),
  ];
});
step("eager loading", async () => [
  plain(
    await Person.findAll({
      include: [{ model: Post, as: "posts" }],
      order: ["id", [{ model: Post, as: "posts" }, "id", "DESC"]],
    }),
  ),
  plain(
    await Post.findAll({
      include: [
        { association: "author", attributes: ["name"], include: [{ association: "boss", attributes: ["name"] }] },
      ],
      order: [["id", "ASC"]],
    }),
  ),
  plain(
    await Post.findAll({
      include: [{ model: Tag, as: "tags" }],
      order: ["id", [{ model: Tag, as: "tags" }, "label", "ASC"]],
    }),
  ),
  plain(
    await Post.findAll({
      include: [{ model: Tag, as: "tags", through: { attributes: [] }, where: { label: "science" } }],
      order: ["id"],
      limit: 2,
    }),
  ),
  plain(
    await Person.findAll({
      attributes: ["id"],
      include: [{ association: "posts", attributes: ["title"], required: true, where: { views: { [Op.gt]: 10 } } }],
      order: ["id"],
      limit: 1,
      offset: 0,
    }),
  ),
  plain(
    await Person.findAll({
      attributes: ["id"],
      include: [{ association: "posts", attributes: ["id"], separate: true, order: ["id"], limit: 2 }],
      order: ["id"],
    }),
  ),
  plain(
    await Person.findAll({
      attributes: ["name"],
      include: [{ association: "boss", attributes: ["name"], right: true }],
      order: [[{ association: Person.associations?.boss, model: Person, as: "boss" }, "name", "ASC"], "name"],
    }),
  ),
  plain(
    await Person.findAll({
      where: { "$posts.title$": "Bread" },
      include: [{ association: "posts", attributes: [] }],
      attributes: ["id"],
    }),
  ),
  plain(await Person.findOne({ where: { id: "person:2" }, include: { all: true } })),
  plain(
    await Person.findAll({
      attributes: ["id", [fn("COUNT", col("posts.id")), "n"]],
      include: [{ association: "posts", attributes: [] }],
      group: ["person.id"],
      order: [["id", "ASC"]],
      subQuery: false,
    }),
  ),
]);
step("lazy loading and the methods of associations", async () => {
  const ada = await Person.findByPk("person:1"),
    bread = await Post.findByPk("post:4");
  const made = await ada.createPost({ id: "post:9", title: "Made by Ada" });
  const before = [
    await ids(ada.getPosts({ order: ["id"] })),
    await ada.countPosts(),
    await ada.hasPost("post:4"),
    await ids(ada.getStaff({ order: ["id"] })),
    (await bread.getAuthor()).name,
  ];
  await bread.setAuthor("person:3");
  await bread.addTag("tag:2");
  await bread.addTags(["tag:2", "tag:3"]);
  const tags = await ids(bread.getTags({ order: ["id"] }));
  await bread.removeTag("tag:3");
  await bread.setTags(["tag:1"]);
  const left = await ids(bread.getTags());
  await bread.setAuthor("person:2");
  await made.destroy({ force: true });
  return [before, tags, left, await bread.countTags(), (await bread.reload()).authorId];
});
step("order, limit, offset", async () => [
  await ids(
    Person.findAll({
      order: [
        ["age", "DESC"],
        ["id", "DESC"],
      ],
      limit: 3,
      offset: 1,
    }),
  ),
  await ids(Person.findAll({ order: [["age", "ASC NULLS FIRST"], "id"] })),
  await ids(Person.findAll({ order: [[fn("length", col("name")), "DESC"], literal("id asc")] })),
]);
step("findAndCountAll", async () => [
  plain(await Post.findAndCountAll({ where: { views: { [Op.gt]: 1 } }, order: ["id"], limit: 2, offset: 1 })),
  plain(
    await Person.findAndCountAll({
      include: [{ association: "posts", required: true, attributes: ["id"] }],
      attributes: ["id"],
      distinct: true,
      limit: 1,
      order: ["id"],
    }),
  ),
]);
step("aggregates", async () => [
  await Person.count(),
  await Person.count({ where: { active: true } }),
  await Person.count({ col: "age", distinct: true }),
  plain(await Post.count({ group: ["author_id"] })).sort((a, b) => (a.author_id < b.author_id ? -1 : 1)),
  await Person.max("age"),
  await Person.min("score"),
  await Post.sum("views"),
  await Person.sum("balance"),
  await Post.max("createdAt"),
  plain(
    await Post.findAll({
      attributes: ["authorId", [fn("COUNT", "*"), "n"], [fn("MAX", col("views")), "most"]],
      group: ["authorId"],
      having: where(fn("COUNT", "*"), { [Op.gt]: 1 }),
      order: [["authorId", "ASC"]],
    }),
  ),
  plain(
    await Person.findAll({
      attributes: [[fn("DISTINCT", col("age")), "age"]],
      order: [[col("age"), "ASC"]],
      raw: true,
    }),
  ),
  plain(await Person.aggregate("name", "string_agg", { dataType: "text", plain: false }).catch((e) => e.original.code)),
]);
step("sub-queries by literal", async () => [
  await ids(
    Person.findAll({
      where: { id: { [Op.in]: literal("(SELECT author_id FROM post WHERE views > 10)") } },
      order: ["id"],
    }),
  ),
  plain(
    await Person.findAll({
      attributes: ["id", [literal('(SELECT COUNT(*) FROM post p WHERE p.author_id = "person"."id")'), "n"]],
      order: [[literal("n"), "DESC"], "id"],
    }),
  ),
  await ids(
    Person.findAll({
      where: literal('EXISTS (SELECT 1 FROM post p WHERE p.author_id = "person"."id")'),
      order: ["id"],
    }),
  ),
]);
step("scopes", async () => [
  await ids(Person.scope("active").findAll({ order: ["id"] })),
  await ids(Person.scope("active", { method: ["older", 36] }).findAll()),
]);
step("raw queries with replacements and bindings", async () => [
  await db.query("SELECT name, :n::int8 + 1 AS n FROM person WHERE id IN (:ids) ORDER BY id", {
    replacements: { n: 4, ids: ["person:1", "person:2"] },
    type: QueryTypes.SELECT,
  }),
  await db.query("SELECT name FROM person WHERE age > $age AND name <> $name ORDER BY id", {
    bind: { age: 30, name: "x" },
    type: QueryTypes.SELECT,
  }),
  await db.query("SELECT ? AS a, ? AS b, ? AS c, ? AS d", {
    replacements: ["it's", true, null, new Date(0)],
    type: QueryTypes.SELECT,
  }),
  plain(await db.query("SELECT * FROM person WHERE id = $1", { bind: ["person:1"], model: Person, mapToModel: true })),
  (await db.query("UPDATE post SET views = views WHERE id = 'post:1'"))[1].rowCount,
  await db.query('SELECT id AS "a.b" FROM tag ORDER BY 1 LIMIT 1', { nest: true, type: QueryTypes.SELECT }),
]);
step("update, save, increment, returning", async () => {
  const post = await Post.findByPk("post:3");
  post.title = "A better draft";
  await post.save();
  await post.update({ published: true });
  await post.increment("views", { by: 2 });
  await post.decrement({ views: 1 });
  const many = await Post.increment({ views: 3 }, { where: { authorId: "person:2" } });
  return [
    plain(await post.reload()),
    plain(many[0][0])
      .map((r) => +r.views)
      .sort(),
    await Post.update({ title: "x" }, { where: { id: "nothing" } }),
    plain(
      await Post.update(
        { title: fn("upper", col("title")), views: literal("views + 1") },
        { where: { id: "post:1" }, returning: true },
      ),
    ),
    plain(
      await Person.update(
        { balance: "7.125", born: new Date(0), tags: ["x", 'q"', "{}", "it's"] },
        { where: { id: "person:3" }, returning: true },
      ),
    ),
    plain(await Person.update({ tags: null, born: null }, { where: { id: "person:3" }, returning: ["tags"] })),
    await code(() => Post.update({ title: "" }, { where: { id: "post:1" } })),
  ];
});
step("upsert and bulkCreate with conflicts", async () => [
  await code(() => Tag.upsert({ id: "tag:1", label: "meals" })), // on conflict of the label
  plain(await Tag.upsert({ id: "tag:1", label: "meals" }, { conflictFields: ["id"] })),
  plain(await Tag.upsert({ id: "tag:5", label: "fresh" }, { conflictFields: ["id"] })),
  plain(await Tag.upsert({ id: "tag:6", label: "meals" }, { conflictFields: ["label"], fields: ["label"] }))[0].label,
  plain(
    await Tag.bulkCreate(
      [
        { id: "tag:1", label: "y" },
        { id: "tag:5", label: "z" },
      ],
      { ignoreDuplicates: true },
    ),
  ).length,
  plain(
    await Tag.bulkCreate(
      [
        { id: "tag:1", label: "food" },
        { id: "tag:5", label: "fresher" },
      ],
      { updateOnDuplicate: ["label"], conflictAttributes: ["id"] },
    ),
  ),
  plain(
    await Tag.bulkCreate([{ id: "tag:8", label: "food" }], {
      updateOnDuplicate: ["label"],
      conflictAttributes: ["label"],
    }),
  ).length,
  plain(await Tag.findAll({ order: ["id"] })),
  await code(() => Tag.create({ id: "tag:1", label: "x" })),
  await Tag.create({ id: "tag:9", label: "food" }).catch((e) => [e.name, Object.keys(e.fields)]),
  await code(() => Person.create({ id: "person:9" })),
  plain(await Tag.findCreateFind({ where: { label: "food" }, defaults: { id: "tag:9" } })),
  plain(await Tag.findCreateFind({ where: { label: "not yet there" }, defaults: { id: "tag:9" } })),
  await Tag.destroy({ where: { id: "tag:9" } }),
  plain(await Tag.findOrBuild({ where: { label: "food" } })),
]);
step("destroy, soft delete and restore", async () => {
  const post = await Post.findByPk("post:6");
  await post.destroy();
  const gone = [
    await Post.findByPk("post:6"),
    plain(await Post.findByPk("post:6", { paranoid: false })),
    await Post.count(),
    await Post.count({ paranoid: false }),
  ];
  await post.restore();
  return [
    gone,
    plain(await Post.findByPk("post:6")),
    await Tag.destroy({ where: { id: "tag:5" } }),
    await Tag.destroy({ where: { id: "tag:5" } }),
    await Tag.destroy({ where: { label: { [Op.in]: ["a", "b"] } }, limit: 1 }),
  ];
});
step("transactions", async () => {
  const names = async (o) => (await Tag.findAll({ order: ["id"], ...o })).map((t) => t.label);
  const fell = await code(() =>
    db.transaction(async (transaction) => {
      await Tag.create({ id: "tag:t1", label: "t1" }, { transaction });
      await Tag.create({ id: "tag:t1", label: "again" }, { transaction });
    }),
  );
  const after = await names();
  const transaction = await db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.REPEATABLE_READ });
  await Tag.create({ id: "tag:t2", label: "t2" }, { transaction });
  const inner = await db.transaction({ transaction });
  await Tag.create({ id: "tag:t3", label: "t3" }, { transaction: inner });
  await inner.rollback();
  const locked = await Tag.findAll({
    where: { id: "tag:1" },
    lock: transaction.LOCK.UPDATE,
    skipLocked: true,
    transaction,
  });
  const within = await names({ transaction });
  await transaction.commit();
  let called = 0;
  await db.transaction(async (t) => {
    t.afterCommit(() => {
      called++;
    });
  });
  return [
    fell,
    after,
    plain(locked),
    within,
    await names(),
    called,
    await Tag.destroy({ where: { label: { [Op.like]: "t_" } } }),
  ];
});
step("introspection", async () => {
  const qi = db.getQueryInterface();
  return [
    Object.entries(await qi.describeTable("person")).map(([k, v]) => [k, v.type, v.allowNull, v.primaryKey]),
    (await qi.showAllTables()).map((t) => t.tableName ?? t).sort(),
    await qi.tableExists("tag"),
    await qi.tableExists("nothing"),
    (await qi.showIndex("post_tag")).map((i) => [i.name, i.unique, i.primary, i.fields.map((f) => f.attribute)]).sort(),
    (await qi.getForeignKeyReferencesForTable("post_tag"))
      .map((f) => [f.tableName, f.columnName, f.referencedTableName, f.referencedColumnName])
      .sort(),
    await qi.showAllSchemas(),
    (await db.sync()) === db,
  ];
});
step("errors", async () => [
  await code(() => db.query("SELECT * FROM nothing")),
  await code(() => Person.findAll({ attributes: ["nothing"] })),
  await code(() => Person.findAll({ where: { age: { [Op.gt]: "abc" } } })),
  await code(() => db.query("SELECT FROM WHERE")),
]);
step("what is refused", () =>
  refused({
    "sync with alter": () => db.sync({ alter: true }),
    drop: () => Tag.drop(),
    "create table": () => db.getQueryInterface().createTable("x", { id: T.INTEGER }),
    "add column": () => db.getQueryInterface().addColumn("person", "extra", T.TEXT),
    findOrCreate: () => Tag.findOrCreate({ where: { label: "made" }, defaults: { id: "tag:made" } }),
  }),
);
step("truncate", async () => {
  await PostTag.destroy({ truncate: true });
  return PostTag.count();
});

await run(() => db.close());
