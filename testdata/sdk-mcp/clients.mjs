// Drives MCP with the official clients, both lines of them, over HTTP and standard streams:
// node clients.mjs http://HOST:PORT USER PASS PATH-OF-NACRE DIRECTORY-FOR-STORES
import assert from "node:assert/strict";
import { Client as First } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstHTTP } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport as FirstStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as Second, StreamableHTTPClientTransport as SecondHTTP } from "@modelcontextprotocol/client";
import { StdioClientTransport as SecondStdio } from "@modelcontextprotocol/client/stdio";

const [base, user, pass, program, dir] = process.argv.slice(2);
const authorization = "Basic " + Buffer.from(`${user}:${pass}`).toString("base64");
const url = new URL(base + "/mcp");
const tools = ["query", "gql", "graphql", "select", "create", "insert", "upsert", "update", "delete", "relate", "run",
	"list", "use", "info", "describe", "explain", "sample"];
const readers = ["select", "list", "info", "describe", "explain", "sample"];
const prompts = ["query_builder", "schema_explorer", "data_modeler", "transaction_guide", "graph_traversal", "search_guide"];
const mine = { name: "nacre-test", version: "1" };

const setup = `DEFINE TABLE person SCHEMALESS; DEFINE FIELD name ON person TYPE option<string>;
	DEFINE TABLE knows TYPE RELATION FROM person TO person; DEFINE FUNCTION fn::twice($a: int) { RETURN $a * 2 };
	DEFINE CONFIG GRAPHQL AUTO; CREATE person:ada SET name = 'Ada'; CREATE person:bob SET name = 'Bob'`;

// suite goes through everything that a client does. The clients check each structured result against the schema that the
// tool publishes, and each answer against that of the protocol.
async function suite(label, client, place, { alone }) {
	const step = async (name, f) => {
		await f();
		console.log(`ok   ${label}: ${name}`);
	};
	const call = async (name, args) => {
		const got = await client.callTool({ name, arguments: name === "use" ? args : { ...place, ...args } });
		assert.equal(got.content[0].type, "text");
		return got;
	};
	const value = async (name, args) => {
		const got = await call(name, args);
		assert.ok(!got.isError, JSON.stringify(got));
		assert.deepEqual(JSON.parse(got.content[0].text), got.structuredContent.value);
		return got.structuredContent.value;
	};
	await step("the server says who it is", () => {
		assert.equal(client.getServerVersion().name, "nacre");
		assert.match(client.getInstructions(), /describe/);
		assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ["completions", "prompts", "resources", "tools"]);
	});
	await step("tools", async () => {
		const { tools: list } = await client.listTools();
		assert.deepEqual(list.map((t) => t.name), tools);
		for (const t of list) {
			assert.equal(t.inputSchema.type, "object");
			assert.equal(t.annotations.readOnlyHint, readers.includes(t.name), t.name);
			assert.equal(t.annotations.openWorldHint, false);
			assert.equal(t.outputSchema === undefined, t.name === "gql" || t.name === "graphql", t.name);
		}
	});
	await step("query: several statements", async () => {
		const got = await call("query", { query: setup });
		assert.equal(got.structuredContent.has_errors, false, JSON.stringify(got));
		assert.match(got.content[0].text, /^Statement 1 \(ok\):/);
	});
	await step("query: parameters", async () => {
		const query = "RETURN [$a, type::of($b)]";
		assert.deepEqual(await value("query", { query, parameters: { a: 1, b: { $ql: "1.5dec" } } }), [1, "decimal"]);
	});
	await step("query: an error of a statement", async () => {
		const got = await call("query", { query: "THROW 'no'" });
		assert.equal(got.isError, true);
		assert.equal(got.structuredContent.kind, "Thrown");
		assert.match(got.content[0].text, /^Error \(Thrown\): /);
	});
	await step("create, insert, upsert, update, relate, delete", async () => {
		assert.equal((await value("create", { target: "person:cem", data: { name: "Cem" } }))[0].id, "person:cem");
		assert.equal((await value("insert", { target: "person", data: [{ id: "dan" }, { id: "eve" }] })).length, 2);
		assert.equal((await value("upsert", { target: "person:fay", content_data: { name: "Fay" } }))[0].name, "Fay");
		assert.equal((await value("update", { target: "person:fay", merge_data: { age: 3 } }))[0].age, 3);
		assert.equal((await value("relate", { from: "person:ada", table: "knows", with: "person:bob" }))[0].out, "person:bob");
		assert.deepEqual(await value("delete", { target: "person", where_clause: "name IS NONE" }), []);
	});
	await step("select, sample, explain, run", async () => {
		const page = { target: "person", fields: "name", order_clause: "name", limit_clause: 2, start_clause: 1 };
		assert.deepEqual(await value("select", page), [{ name: "Bob" }, { name: "Cem" }]);
		assert.equal((await value("sample", { table: "person", count: 3 })).length, 3);
		assert.ok(await value("explain", { query: "SELECT * FROM person WHERE name = $n", parameters: { n: "Ada" } }));
		assert.equal(await value("run", { function: "fn::twice", args: [21] }), 42);
	});
	await step("gql, graphql", async () => {
		const query = "MATCH (a:person)-[:knows]->(b:person) RETURN b.name AS n";
		assert.deepEqual(await value("gql", { query }), [{ n: "Bob" }]);
		const got = await call("graphql", { query: `{ person(id: "ada") { name } }` });
		assert.deepEqual(got.structuredContent.data, { person: { name: "Ada" } });
	});
	await step("list, info, describe", async () => {
		const { structuredContent: listed } = await call("list", { kind: "tables" });
		assert.deepEqual(listed.items.map((t) => t.name).sort(), ["knows", "person"]);
		assert.match((await value("info", { target: "person" })).fields.name, /DEFINE FIELD name/);
		const { structuredContent: told } = await call("describe", { tables: ["person"], max_tokens: 500 });
		assert.equal(told.tables[0].records, 4);
	});
	await step("use", async () => {
		const got = await call("use", place);
		assert.equal(!!got.isError, alone);
		if (!alone) assert.deepEqual(got.structuredContent, place);
	});
	await step("an unknown tool", () => assert.rejects(client.callTool({ name: "nonsense" }), (err) => err.code === -32602));
	await step("resources", async () => {
		const { resources } = await client.listResources();
		assert.deepEqual(resources.map((r) => r.uri), ["surrealdb://instructions", "surrealdb://info", "surrealdb://version"]);
		const { resourceTemplates } = await client.listResourceTemplates();
		assert.equal(resourceTemplates.length, 2);
		for (const { uri } of resources) assert.ok((await client.readResource({ uri })).contents[0].text.length > 0);
		const uri = `surrealdb://schema/ns/${place.namespace}/db/${place.database}`;
		assert.ok(JSON.parse((await client.readResource({ uri })).contents[0].text).schema.tables.person.fields);
		assert.ok(JSON.parse((await client.readResource({ uri: uri + "/table/person" })).contents[0].text).schema.fields);
		await assert.rejects(client.readResource({ uri: "surrealdb://nothing" }), /Unknown resource/);
	});
	await step("prompts", async () => {
		const { prompts: list } = await client.listPrompts();
		assert.deepEqual(list.map((p) => p.name), prompts);
		for (const p of list) {
			const got = await client.getPrompt({ name: p.name, arguments: { [p.arguments[0].name]: "a Zebra" } });
			assert.match(got.messages[0].content.text, /a Zebra/);
		}
	});
	await step("completion", async () => {
		const ref = { type: "ref/prompt", name: "schema_explorer" };
		const context = { arguments: place };
		const got = await client.complete({ ref, argument: { name: "table", value: "per" }, context });
		assert.deepEqual(got.completion.values, ["person"]);
	});
	await step("a call is cancelled, and others go on", async () => {
		const stop = new AbortController();
		const slow = client.callTool({ name: "query", arguments: { query: "SLEEP 100s" } }, ...(client instanceof First ?
			[undefined, { signal: stop.signal }] : [{ signal: stop.signal }]));
		assert.equal(await value("query", { query: "RETURN 1" }), 1);
		stop.abort("enough");
		await assert.rejects(slow);
		assert.equal(await value("query", { query: "RETURN 2" }), 2);
	});
	if (!alone) await step("ping", () => client.ping());
	if (alone) await step("a subscription is acknowledged", async () => {
		const s = await client.listen({ toolsListChanged: true });
		assert.deepEqual(s.honoredFilter, {});
		await s.close();
	});
}

const pin = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const auto = { versionNegotiation: { mode: "auto" } };
const http = { requestInit: { headers: { authorization } } };
let n = 0;
const stdio = () => ({ command: program, args: ["mcp", "--ns", "n", "--db", "d", `bolt://${dir}/${n++}`], stderr: "pipe" });
const runs = [
	["sdk 1 over HTTP", new First(mine), () => new FirstHTTP(url, http), false],
	["sdk 1 over stdio", new First(mine), () => new FirstStdio(stdio()), false],
	["client 2 over HTTP", new Second(mine), () => new SecondHTTP(url, http), false],
	["client 2 over HTTP, without sessions", new Second(mine, pin), () => new SecondHTTP(url, http), true],
	["client 2 over stdio, without sessions", new Second(mine, pin), () => new SecondStdio(stdio()), true],
	["client 2 over stdio, which finds out", new Second(mine, auto), () => new SecondStdio(stdio()), true],
];
await fetch(base + "/sql", { method: "POST", headers: { authorization, accept: "application/json" },
	body: runs.map((_, i) => `DEFINE NAMESPACE n${i}; USE NS n${i}; DEFINE DATABASE d`).join(";") });
await Promise.all(runs.map(async ([label, client, transport, alone], i) => {
	const t = transport();
	await client.connect(t);
	const place = label.includes("HTTP") ? { namespace: `n${i}`, database: "d" } : { namespace: "n", database: "d" };
	await suite(label, client, place, { alone });
	if (label.includes("HTTP") && !alone) {
		await t.terminateSession();
		assert.equal(t.sessionId, undefined);
		console.log(`ok   ${label}: the session ends`);
	}
	await client.close();
})).catch((err) => {
	console.error(err);
	process.exit(1);
});
