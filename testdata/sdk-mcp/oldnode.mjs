// The conformance runner imports fs.globSync, which Node 20 does not have. Only its command tier-check calls it.
import fs from "node:fs";
import { register } from "node:module";

if (!fs.globSync) {
	const source = `export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => { throw new Error("no globSync"); };`;
	const hooks = `export const resolve = (name, context, next) => name === "fs" && context.parentURL?.includes("/@modelcontextprotocol/conformance/")
		? { url: ${JSON.stringify("data:text/javascript," + encodeURIComponent(source))}, shortCircuit: true } : next(name, context);`;
	register("data:text/javascript," + encodeURIComponent(hooks));
}
