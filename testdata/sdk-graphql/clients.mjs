// Drives the GraphQL of a nacre server: node clients.mjs http://HOST:PORT USER PASS
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { buildClientSchema, getIntrospectionQuery, printSchema, validateSchema, parse, validate } from "graphql";
import { GraphQLClient, gql } from "graphql-request";
import apollo from "@apollo/client/core/core.cjs";
import { createClient } from "graphql-ws";
import legacy from "subscriptions-transport-ws";
import WebSocket from "ws";

const [base, user, pass] = process.argv.slice(2);
const headers = {
	authorization: "Basic " + Buffer.from(`${user}:${pass}`).toString("base64"),
	"service-ns": "test", "service-db": "sdk",
};
const url = base + "/graphql";
const socket = url.replace("http", "ws");
const step = async (name, f) => {
	await f();
	console.log("ok   " + name);
};
const within = (promise, what) => Promise.race([promise, new Promise((_, no) => setTimeout(() => no(new Error(what)), 60000).unref())]);
const sql = async (text) => {
	const r = await fetch(base + "/sql", { method: "POST", body: text, headers: { ...headers, accept: "application/json" } });
	for (const s of await r.json()) assert.equal(s.status, "OK", JSON.stringify(s));
};
await sql(readFileSync(new URL("../../engine/testdata/graphql/worked.surql", import.meta.url), "utf8"));

const client = new GraphQLClient(url, { headers });
let schema;
await step("graphql-js builds the schema of introspection, and finds it valid", async () => {
	const data = await client.request(getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, schemaDescription: true, directiveIsRepeatable: true }));
	schema = buildClientSchema(data);
	assert.deepEqual(validateSchema(schema), []);
	assert.match(printSchema(schema), /type book implements record/);
});
await step("graphql-js validates the requests of the worked example as the server does", async () => {
	const lines = readFileSync(new URL("../../engine/testdata/graphql/worked.txt", import.meta.url), "utf8").split("\n");
	let n = 0;
	for (let i = 0; i < lines.length; i++) {
		if (!lines[i].startsWith("> ")) continue;
		let answer = i + 1;
		while (!lines[answer].startsWith("= ")) answer++;
		const known = !lines[answer].includes("Unknown field");
		const errors = validate(schema, parse(lines[i].slice(2)));
		assert.equal(errors.length === 0, known, lines[i] + " " + errors);
		n++;
	}
	assert.ok(n >= 40, String(n));
});
await step("graphql-request: variables, errors, batches", async () => {
	const data = await client.request(gql`query($m: Int!) { books(filter: {pages: {gt: $m}}) { id writer { name } } }`, { m: 100 });
	assert.deepEqual(data, { books: [{ id: "book:1", writer: { name: "Ann" } }, { id: "book:3", writer: { name: "Ben" } }] });
	await assert.rejects(client.request("{ nope }"), /Unknown field "nope" on type "Query"/);
	const batch = await client.batchRequests([{ document: "{ cities { name } }" }, { document: "{ authors { id } }" }]);
	assert.equal(batch.length, 2);
	assert.deepEqual(batch[0].data, { cities: [{ name: "Oslo" }] });
});
const { ApolloClient, InMemoryCache, HttpLink, gql: agql } = apollo;
await step("Apollo Client: queries with __typename, fragments on unions, mutations, the cache", async () => {
	const a = new ApolloClient({ link: new HttpLink({ uri: url, headers }), cache: new InMemoryCache({ possibleTypes: { author_or_city: ["author", "city"] } }) });
	const { data } = await a.query({ query: agql`{ book(id: "2") { id about { ... on author { id name } ... on city { name } } } }` });
	assert.equal(data.book.__typename, "book");
	assert.equal(data.book.about.name, "Ben");
	const made = await a.mutate({ mutation: agql`mutation($d: CreateCityInput!) { createCity(data: $d) { id name } }`, variables: { d: { id: "rome", name: "Rome" } } });
	assert.deepEqual(made.data.createCity, { __typename: "city", id: "city:rome", name: "Rome" });
	await a.mutate({ mutation: agql`mutation { updateAuthor(id: "ben", data: { name: "Benno" }) { id name } }` });
	assert.equal(a.readFragment({ id: "author:author:ben", fragment: agql`fragment f on author { name }` }).name, "Benno");
	a.stop();
});
// The identity comes with connection_init, the place with the headers.
class Placed extends WebSocket {
	constructor(address, protocols) {
		super(address, protocols, { headers: { "service-ns": "test", "service-db": "sdk" } });
	}
}
await step("graphql-ws: queries, mutations, events and their end", async () => {
	const ws = createClient({ url: socket, webSocketImpl: Placed, connectionParams: { authorization: headers.authorization }, retryAttempts: 0 });
	const once = (query) => new Promise((yes, no) => ws.subscribe({ query }, { next: yes, error: no, complete() {} }));
	assert.deepEqual((await once("{ cities(order: {asc: name}) { name } }")).data, { cities: [{ name: "Oslo" }, { name: "Rome" }] });
	const seen = [];
	let wake, ended;
	const end = ws.subscribe({ query: 'subscription { city(where: { name: { ne: "Nowhere" } }) { id name } }' },
		{ next: (m) => { seen.push(m.data.city); wake?.(); }, error: (e) => { throw new Error(JSON.stringify(e)); }, complete() { ended?.(); } });
	const events = async (n) => { while (seen.length < n) await within(new Promise((yes) => (wake = yes)), `event ${n}`); };
	for (let i = 0; i < 1200 && seen.length === 0; i++) { // until the live query has begun; what changes nothing is no event
		await once(`mutation { upsertCity(id: "bonn", data: { name: "Bonn ${i}" }) { id } }`);
		await new Promise((yes) => setTimeout(yes, 50));
	}
	await events(1);
	assert.equal(seen[0].id, "city:bonn");
	assert.match(seen[0].name, /^Bonn \d+$/);
	const before = seen.length;
	await once(`mutation { upsertCity(id: "x", data: { name: "Nowhere" }) { id } deleteCity(id: "bonn") }`);
	await events(before + 1);
	assert.equal(seen[before].id, "city:bonn");
	const over = within(new Promise((yes) => (ended = yes)), "the end");
	end();
	await over;
	await assert.rejects(once("{ nope }"));
	await ws.dispose();
});
await step("subscriptions-transport-ws: the older sub-protocol", async () => {
	const old = new legacy.SubscriptionClient(socket, { connectionParams: { authorization: headers.authorization }, reconnect: false }, Placed);
	const first = within(new Promise((yes, no) => old.request({ query: "{ authors { name } }" }).subscribe({ next: yes, error: no })), "an answer");
	assert.deepEqual((await first).data, { authors: [{ name: "Ann" }, { name: "Benno" }] });
	old.close();
});
process.exit(0);
