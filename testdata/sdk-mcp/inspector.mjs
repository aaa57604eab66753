// Runs the command line of the inspector over HTTP and standard streams: node inspector.mjs http://HOST:PORT USER PASS NACRE
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [base, user, pass, program] = process.argv.slice(2);
const inspector = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));
const authorization = "Authorization: Basic " + Buffer.from(`${user}:${pass}`).toString("base64");
const home = mkdtempSync(join(tmpdir(), "inspector-")); // it keeps settings of its own there
const inspect = (target, args) => new Promise((resolve, reject) => {
	const all = [inspector, "--cli", ...target, "--format", "json", "-q", ...args];
	const env = { ...process.env, HOME: home, BROWSER: "none" };
	execFile(process.execPath, all, { maxBuffer: 1 << 26, env }, (err, out, log) => err ? reject(new Error(log + out)) : resolve(JSON.parse(out)));
});
const targets = {
	HTTP: ["--header", authorization, "--server-url", base + "/mcp", "--transport", "http"],
	stdio: [program, "mcp"],
};
const both = [
	["tools/list", ["--protocol-era", "legacy", "--strict"], (r) => assert.equal(r.tools.length, 17)],
	["tools/call", ["--tool-name", "query", "--tool-arg", "query=RETURN 6 * 7"], (r) => assert.equal(r.structuredContent.value, 42)],
	["tools/call", ["--protocol-era", "modern", "--tool-name", "describe", "--tool-arg", "max_tokens=500"],
		(r) => assert.deepEqual(r.structuredContent.tables, [])],
	["resources/read", ["--uri", "surrealdb://info"], (r) => assert.equal(JSON.parse(r.contents[0].text).name, "nacre")],
];
const more = [
	["resources/list", [], (r) => assert.equal(r.resources.length, 3)],
	["resources/templates/list", [], (r) => assert.equal(r.resourceTemplates.length, 2)],
	["prompts/list", [], (r) => assert.equal(r.prompts.length, 6)],
	["prompts/get", ["--prompt-name", "query_builder", "--prompt-args", "description=count"],
		(r) => assert.match(r.messages[0].content.text, /count/)],
];
const asks = { HTTP: [...both, ...more], stdio: both };
const work = Object.entries(targets).flatMap(([label, target]) => asks[label].map(([method, args, check]) => async () => {
	const got = await inspect(target, ["--method", method, ...args]);
	check(got.result ?? got);
	console.log(`ok   ${label}: ${method} ${args.join(" ")}`);
}));
try {
	await Promise.all([1, 2, 3].map(async () => { // processes at once
		for (let f; (f = work.shift());) await f();
	}));
} finally {
	rmSync(home, { recursive: true, force: true });
}
