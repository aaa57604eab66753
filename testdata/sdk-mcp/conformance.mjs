// Runs the conformance runner of the protocol against a server that guests may use, with what each revision requires of
// servers: node conformance.mjs http://HOST:PORT DIRECTORY
//
// A scenario passes, or it demands something that only the example server of the protocol has: a tool, prompt or resource
// of that name, or an optional capability that this server does not claim. Nothing else may fail.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [base, dir] = process.argv.slice(2);

// What scenarios demand that is not part of a database.
const demands = {
	"tools-call-simple-text": "tool test_simple_text",
	"tools-call-image": "tool test_image_content",
	"tools-call-audio": "tool test_audio_content",
	"tools-call-embedded-resource": "tool test_embedded_resource",
	"tools-call-mixed-content": "tool test_multiple_content_types",
	"tools-call-with-logging": "tool test_tool_with_logging",
	"tools-call-error": "tool test_error_handling",
	"tools-call-with-progress": "tool test_tool_with_progress",
	"tools-call-sampling": "tool test_sampling",
	"tools-call-elicitation": "tool test_elicitation",
	"elicitation-sep1034-defaults": "tool test_elicitation_sep1034_defaults",
	"elicitation-sep1330-enums": "tool test_elicitation_sep1330_enums",
	"resources-read-text": "resource test://static-text",
	"resources-read-binary": "resource test://static-binary",
	"resources-templates-read": "resource test://template/123/data",
	"resources-subscribe": "capability resources.subscribe",
	"resources-unsubscribe": "capability resources.subscribe",
	"prompts-get-simple": "prompt test_simple_prompt",
	"prompts-get-with-args": "prompt test_prompt_with_arguments",
	"prompts-get-embedded-resource": "prompt test_prompt_with_embedded_resource",
	"prompts-get-with-image": "prompt test_prompt_with_image",
	"server-stateless": "tools test_missing_capability, test_streaming_elicitation and test_logging_tool, for 4 checks",
	"input-required-result-basic-elicitation": "tool test_input_required_result_elicitation",
	"input-required-result-basic-sampling": "tool test_input_required_result_sampling",
	"input-required-result-basic-list-roots": "tool test_input_required_result_list_roots",
	"input-required-result-request-state": "tool test_input_required_result_request_state",
	"input-required-result-multiple-input-requests": "tool test_input_required_result_multiple_inputs",
	"input-required-result-multi-round": "tool test_input_required_result_multi_round",
	"input-required-result-missing-input-response": "tool test_input_required_result_elicitation",
	"input-required-result-non-tool-request": "prompt test_input_required_result_prompt",
	"input-required-result-result-type": "tool test_input_required_result_elicitation",
	"input-required-result-tampered-state": "tool test_input_required_result_tampered_state",
	"input-required-result-capability-check": "tool test_input_required_result_capabilities",
	"input-required-result-ignore-extra-params": "tool test_input_required_result_elicitation",
};

// How a check says that it did not find what its scenario demands.
const missing = new RegExp([
	"^(Failed|JSON-RPC error): (MCP error -32602: )?Unknown (tool|prompt): test_\\w+$",
	"^Failed: Unknown resource: test://[\\w/-]+$",
	"^Failed: Method not found$", // of resources/subscribe, which the server does not claim to have
	"^Not testable: server does not list the diagnostic tool 'test_\\w+'",
	"^Prerequisite failed: could not get initial InputRequiredResult",
	"^Expected InputRequiredResult with inputRequests and requestState$", // of test_input_required_result_multi_round
	"^Server returned JSON-RPC error (when extra params were included: Unknown tool: test_|instead of re-requesting)",
].join("|"));

const runner = fileURLToPath(new URL("node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url));
const required = (revision) => {
	const text = readFileSync(new URL(`node_modules/@modelcontextprotocol/conformance/requirements/${revision}.yaml`, import.meta.url), "utf8");
	return text.match(/^server:\n((?: .*\n|\n)*)/m)[1].match(/(?<=^ {2}- )[\w-]+/gm);
};

for (const revision of ["2025-11-25", "2026-07-28"]) {
	const out = `${dir}/${revision}`;
	const args = ["--import", new URL("oldnode.mjs", import.meta.url).href, runner, "server", "--url", base + "/mcp", "--requirements", revision, "-o", out];
	await new Promise((done) => execFile(process.execPath, args, { maxBuffer: 1 << 26 }, done)); // it fails where a scenario does
	const folders = readdirSync(out);
	for (const scenario of required(revision)) {
		const folder = folders.find((f) => f.startsWith(`server-${scenario}-20`));
		assert.ok(folder, `${revision}: ${scenario} did not run`);
		const checks = JSON.parse(readFileSync(`${out}/${folder}/checks.json`, "utf8"));
		const failed = checks.filter((c) => c.status === "FAILURE" || c.status === "WARNING");
		for (const c of failed) {
			if (!demands[scenario] || !missing.test(c.errorMessage)) {
				console.log(`FAIL ${revision} ${scenario}: ${c.id}: ${c.errorMessage}`);
				process.exitCode = 1;
			}
		}
		const passed = checks.filter((c) => c.status === "SUCCESS").length;
		if (failed.length === 0) console.log(`ok   ${revision} ${scenario}: ${passed} checks`);
		else console.log(`none ${revision} ${scenario}: demands ${demands[scenario]}; ${passed} checks pass`);
	}
}
