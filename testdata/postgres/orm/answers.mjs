// What the programs share: the address of a server, its rows, and steps that print what they answer as a line of JSON.
// PROGRAM HOST PORT nacre|postgres.
import { host, port } from "../node/step.mjs";

export const nacre = process.argv[4] === "nacre";
export const options = {
  host,
  port: +port,
  user: "root",
  password: "secret",
  database: nacre ? "test/test" : "postgres",
  options: nacre ? "-c dialect=sql" : "",
};

const steps = [];
export const step = (name, run) => steps.push([name, run]);

// code is the SQLSTATE with which f fails.
export async function code(f) {
  try {
    await f();
  } catch (err) {
    for (let e = err; e; e = e.cause ?? e.original ?? e.driverError) if (e.code) return e.code;
    return `${err.name} without a code: ${err.message}`;
  }
  return "no error";
}

// refused has each of the functions fail with 0A000 at nacre. PostgreSQL can do what they ask for and is not asked.
export const refused = (list) =>
  Promise.all(Object.entries(list).map(async ([name, f]) => [name, nacre ? await code(f) : "0A000"]));

// The rows that each program inserts. Fields that are not there are NULL.
export const people = [
  {
    id: "person:1",
    name: "Ada",
    email: "ada@example.com",
    age: 36,
    score: 1.5,
    balance: "10.25",
    active: true,
    born: new Date("1985-12-10T08:30:00.125Z"),
    tags: ["math", "poetry"],
    meta: { city: "London", langs: ["en", "fr"] },
    boss_id: null,
  },
  {
    id: "person:2",
    name: "Bob",
    email: "bob@example.com",
    age: 41,
    score: -2.25,
    balance: "0.1",
    active: true,
    born: new Date("1979-01-02T00:00:00Z"),
    tags: [],
    meta: { city: "Paris", n: 7, deep: { a: [1, null, "x"] } },
    boss_id: "person:1",
  },
  {
    id: "person:3",
    name: "Cleo",
    email: "cleo@example.com",
    age: 29,
    score: null,
    balance: null,
    active: false,
    born: null,
    tags: null,
    meta: null,
    boss_id: "person:1",
  },
  {
    id: "person:4",
    name: "Dan 100%",
    email: null,
    age: null,
    score: 0,
    balance: "99999999999.123456789",
    active: true,
    born: new Date("2001-06-15T12:00:00Z"),
    tags: ["a,b", 'c"d', "e'f\\"],
    meta: { city: "London" },
    boss_id: "person:2",
  },
  {
    id: "person:5",
    name: "eve_ß",
    email: "eve@example.com",
    age: 29,
    score: 100,
    balance: "-5",
    active: false,
    born: new Date("1995-03-03T03:03:03Z"),
    tags: ["math"],
    meta: {},
    boss_id: null,
  },
];
const day = (n) => new Date(Date.UTC(2024, 0, n, 12));
export const posts = [
  { id: "post:1", title: "On engines", author_id: "person:1", views: 100, published: true, created_at: day(1) },
  { id: "post:2", title: "On numbers", author_id: "person:1", views: 50, published: true, created_at: day(2) },
  { id: "post:3", title: "A draft", author_id: "person:1", views: 0, published: false, created_at: day(3) },
  { id: "post:4", title: "Bread", author_id: "person:2", views: 7, published: true, created_at: day(4) },
  { id: "post:5", title: "Cheese", author_id: "person:2", views: 50, published: false, created_at: day(5) },
  { id: "post:6", title: "Of an unknown author", author_id: null, views: 3, published: true, created_at: day(6) },
];
export const labels = [
  { id: "tag:1", label: "food" },
  { id: "tag:2", label: "science" },
  { id: "tag:3", label: "unused" },
];
export const tagged = [
  ["1", "2"],
  ["2", "2"],
  ["4", "1"],
  ["5", "1"],
  ["5", "2"],
].map(([p, t]) => ({ id: `post_tag:p${p}t${t}`, post_id: `post:${p}`, tag_id: `tag:${t}` }));

// run runs the steps in order. A step that throws ends none of the others.
export async function run(end) {
  for (const [name, f] of steps) {
    let line;
    try {
      line = { step: name, answer: await f() };
    } catch (err) {
      const at = err.stack
        ?.split("\n")
        .find((l) => l.includes(".mjs:") && !l.includes("node_modules"))
        ?.trim();
      line = { step: name, failed: `${err.message} ${err.code ?? err.cause?.message ?? ""} ${at ?? ""}` };
    }
    console.log(JSON.stringify(line));
  }
  await end();
}
