// Drives a nacre server with postgres.js, unchanged: postgres.mjs HOST PORT.
import postgres from "postgres";
import { fails, host, port, runAll, same, step } from "./step.mjs";

const options = { host, port: +port, user: "root", password: "secret", database: "test/test", onnotice: () => {} };
const sql = postgres({ ...options, connection: { options: "-c dialect=sql" }, max: 3 });
const own = postgres({ ...options, max: 1 });

step("tables are defined in the language of the product", async () => {
  await own.unsafe(`DEFINE TABLE item SCHEMAFULL; DEFINE FIELD name ON item TYPE string;
    DEFINE FIELD n ON item TYPE option<int>; DEFINE FIELD f ON item TYPE option<float>;
    DEFINE FIELD ok ON item TYPE option<bool>; DEFINE FIELD at ON item TYPE option<datetime>;
    DEFINE FIELD tags ON item TYPE option<array<string>>; DEFINE FIELD meta ON item TYPE option<object> FLEXIBLE`);
});

const at = new Date("2024-05-06T07:08:09.123Z");

step("rows are inserted by the helper, with every type", async () => {
  const list = [
    { id: "item:1", name: "one", n: 1, f: 1.5, ok: true, at, tags: ["a", "b"], meta: { k: [1] } },
    { id: "item:2", name: "two", n: 2, f: null, ok: null, at: null, tags: null, meta: null },
  ];
  same((await sql`INSERT INTO item ${sql(list)}`).count, 2);
  const [row] = await sql`SELECT * FROM item WHERE id = ${"item:1"}`;
  same([row.name, row.n, row.f, row.ok], ["one", "1", 1.5, true]);
  same(row.at.getTime(), at.getTime());
  same(row.tags, ["a", "b"]);
  same(row.meta, { k: [1] });
});

step("fragments, lists, arrays and updates", async () => {
  same((await sql`SELECT name FROM item WHERE n IN ${sql([1, 2])} ${sql`ORDER BY n DESC`}`).map((r) => r.name), ["two", "one"]);
  same((await sql`SELECT name FROM item WHERE n = ANY(${[2, 3]})`).map((r) => r.name), ["two"]);
  same((await sql`UPDATE item SET ${sql({ name: "zwei", n: 22 })} WHERE id = 'item:2' RETURNING name, n`)[0], { name: "zwei", n: "22" });
});

step("transactions and savepoints", async () => {
  await fails("23505", () => sql.begin(async (tx) => {
    await tx`DELETE FROM item WHERE id = 'item:2'`;
    await tx.savepoint((s) => s`INSERT INTO item (id, name) VALUES ('item:1', 'x')`);
  }));
  const n = await sql.begin(async (tx) => {
    await tx.savepoint((s) => s`INSERT INTO item (id, name) VALUES ('item:1', 'x')`).catch(() => {});
    return (await tx`SELECT count(*)::int4 AS n FROM item`)[0].n;
  });
  same(n, 2);
});

step("errors with their SQLSTATE", async () => {
  await fails("42P01", () => sql`SELECT 1 FROM nothing`);
  await fails("22012", () => sql`SELECT ${1}::int4 / 0`);
});

step("a cursor and forEach", async () => {
  const sizes = [];
  await sql`SELECT i FROM generate_series(1, 25) AS g(i)`.cursor(10, (rows) => { sizes.push(rows.length); });
  same(sizes, [10, 10, 5]);
});

step("describe", async () => {
  const d = await sql`SELECT name, n FROM item WHERE n > ${1}`.describe();
  same(d.types, [20]);
  same(d.columns.map((c) => c.type), [25, 20]);
});

step("COPY in and out", async () => {
  const into = await sql`COPY item (id, name, n) FROM STDIN`.writable();
  for (let i = 0; i < 200; i++) into.write(`item:c${i}\tcopied ${i}\t${i}\n`);
  await new Promise((done, bad) => { into.on("error", bad); into.on("finish", done); into.end(); });
  let text = "";
  for await (const chunk of await sql`COPY (SELECT n FROM item WHERE name LIKE 'copied%') TO STDOUT`.readable()) text += chunk;
  same(text.split("\n").length, 201);
});

step("LISTEN and NOTIFY", async () => {
  let done;
  const got = new Promise((d) => (done = d));
  const { unlisten } = await sql.listen("news", done);
  await sql.notify("news", "hello");
  same(await got, "hello");
  await unlisten();
});

step("cancel", async () => {
  const q = own`SLEEP 1h`.execute();
  setTimeout(() => q.cancel(), 200);
  await fails("57014", () => q);
});

step("the language of the product", async () => {
  same((await own`SELECT n, name FROM item WHERE id = item:1`).map((r) => r.result), [{ n: 1, name: "one" }]);
  same((await own`SELECT VALUE name FROM item WHERE n = ${22} AND id = item:2`).map((r) => r.result), ["zwei"]);
});

await runAll(() => Promise.all([sql.end(), own.end()]));
