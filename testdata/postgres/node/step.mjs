// What the programs share: steps that are reported, all of them, and comparison.
import { deepStrictEqual } from "node:assert";

export const [host, port] = process.argv.slice(2);
export const same = deepStrictEqual;

const steps = [];
const without = (process.env.WITHOUT_STEPS ?? "").split(";");
export const step = (name, run) => without.includes(name) || steps.push([name, run]);

// fails runs f, which must fail with the SQLSTATE.
export async function fails(code, f) {
  try {
    await f();
  } catch (err) {
    same(err.code, code);
    return;
  }
  throw new Error(`no ${code}`);
}

export async function runAll(end) {
  for (const [name, run] of steps) {
    try {
      await run();
      console.log("ok  ", name);
    } catch (err) {
      process.exitCode = 1;
      console.log("FAIL", name, err.message, err.stack?.split("\n")[1]);
    }
  }
  await end();
}
