// Drives a nacre server with node-postgres, unchanged: pg.mjs HOST PORT.
import pg from "pg";
import Cursor from "pg-cursor";
import copy from "pg-copy-streams";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { fails, host, port, runAll, same, step } from "./step.mjs";

const options = { host, port: +port, user: "root", password: "secret", database: "test/test" };
const pool = new pg.Pool({ ...options, options: "-c dialect=sql", max: 4 });

step("tables are defined in the language of the product", async () => {
  await pool.query(`DEFINE TABLE item SCHEMAFULL`);
  const c = new pg.Client(options);
  await c.connect();
  const res = await c.query(`DEFINE FIELD name ON item TYPE string; DEFINE FIELD n ON item TYPE option<int>;
    DEFINE FIELD f ON item TYPE option<float>; DEFINE FIELD d ON item TYPE option<decimal>;
    DEFINE FIELD ok ON item TYPE option<bool>; DEFINE FIELD at ON item TYPE option<datetime>;
    DEFINE FIELD u ON item TYPE option<uuid>; DEFINE FIELD raw ON item TYPE option<bytes>;
    DEFINE FIELD tags ON item TYPE option<array<string>>; DEFINE FIELD meta ON item TYPE option<object> FLEXIBLE`);
  same(res.length, 10);
  await c.end();
});

const at = new Date("2024-05-06T07:08:09.123Z");
const u = "11111111-2222-4333-8444-555555555555";

step("parameters and results of every type", async () => {
  const res = await pool.query(
    `INSERT INTO item (id, name, n, f, d, ok, at, u, raw, tags, meta) VALUES ('item:1', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING *`,
    ["Ünü 'x'", 7, 1.5, "1.10", true, at, u, Buffer.from([0, 255]), ["a", 'b"c'], { k: [1, null] }]);
  same(res.rowCount, 1);
  const row = res.rows[0];
  same(row.name, "Ünü 'x'");
  same([row.n, row.f, +row.d, row.ok, row.u], ["7", 1.5, 1.1, true, u]);
  same(row.at.getTime(), at.getTime());
  same([...row.raw], [0, 255]);
  same(row.tags, ["a", 'b"c']);
  same(row.meta, { k: [1, null] });
  same(res.fields.find((f) => f.name === "n").dataTypeID, 20);
  for (const [col, v] of Object.entries({ n: 7, f: 1.5, d: "1.1", ok: true, at, u }))
    same((await pool.query(`SELECT id FROM item WHERE ${col} = $1`, [v])).rows, [{ id: "item:1" }], col);
});

step("NULL, arrays of rows, named statements", async () => {
  same((await pool.query("SELECT $1::int8 AS a, $2::text AS b", [null, null])).rows, [{ a: null, b: null }]);
  const c = await pool.connect();
  for (let i = 0; i < 3; i++)
    same((await c.query({ name: "add", text: "SELECT $1::int4 + 1 AS a, 'x' AS b", values: [i], rowMode: "array" })).rows, [[i + 1, "x"]]);
  c.release();
});

step("transactions and savepoints", async () => {
  const c = await pool.connect();
  await c.query("BEGIN");
  await c.query("SAVEPOINT a");
  await fails("23505", () => c.query("INSERT INTO item (id, name) VALUES ('item:1', 'again')"));
  await fails("25P02", () => c.query("SELECT 1"));
  await c.query("ROLLBACK TO a");
  await c.query("INSERT INTO item (id, name) VALUES ('item:2', 'two')");
  await c.query("ROLLBACK");
  same((await c.query("SELECT count(*)::int4 AS n FROM item")).rows, [{ n: 1 }]);
  c.release();
});

step("errors with their SQLSTATE and place", async () => {
  await fails("42P01", () => pool.query("SELECT 1 FROM nothing"));
  await fails("42703", () => pool.query("SELECT nothing FROM item"));
  await fails("22P02", () => pool.query("SELECT $1::int4", ["x"]));
  await fails("42601", () => pool.query("SELECT FROM WHERE"));
  await fails("08P01", () => pool.query("SELECT $1::int4", [1, 2]));
});

step("a cursor", async () => {
  const c = await pool.connect();
  const cur = c.query(new Cursor("SELECT i FROM generate_series(1, 25) AS g(i)"));
  same((await cur.read(10)).length, 10);
  same((await cur.read(10))[0], { i: 11 });
  same((await cur.read(10)).length, 5);
  await cur.close();
  c.release();
});

step("COPY in and out", async () => {
  const c = await pool.connect();
  const rows = Array.from({ length: 500 }, (_, i) => `item:c${i}\tcopied ${i}\t${i}\n`);
  await pipeline(Readable.from(rows), c.query(copy.from("COPY item (id, name, n) FROM STDIN")));
  let text = "";
  for await (const chunk of c.query(copy.to("COPY (SELECT n FROM item WHERE name LIKE 'copied%' ORDER BY n) TO STDOUT (FORMAT csv)"))) text += chunk;
  same(text.split("\n").length, 501);
  c.release();
});

step("LISTEN and NOTIFY", async () => {
  const c = new pg.Client(options);
  await c.connect();
  await c.query("LISTEN news");
  const got = new Promise((done) => c.on("notification", (n) => done([n.channel, n.payload])));
  await pool.query("NOTIFY news, 'hello'");
  same(await got, ["news", "hello"]);
  await c.end();
});

step("many queries at once on a pool", async () => {
  const res = await Promise.all(Array.from({ length: 100 }, (_, i) => pool.query("SELECT $1::int4 AS i", [i])));
  same(res.map((r) => r.rows[0].i), Array.from({ length: 100 }, (_, i) => i));
});

step("the language of the product", async () => {
  const c = new pg.Client(options);
  await c.connect();
  same((await c.query("SELECT n, name FROM item WHERE id = item:1")).rows, [{ n: "7", name: "Ünü 'x'" }]);
  same((await c.query("RETURN $1", [JSON.stringify({ a: 1 })])).rows, [{ a: "1" }]);
  await c.end();
});

await runAll(() => pool.end());
