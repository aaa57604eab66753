// Runs the models of a JSON file with onnxruntime-web and writes the first output of each: node check.mjs IN.json OUT.json
// IN is a list of {model: base64, x: numbers, dims: [n, columns]}; OUT a list of numbers, or null where it fails.
import * as fs from 'node:fs';
import * as ort from 'onnxruntime-web';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'fatal';
const out = [];
for (const c of JSON.parse(fs.readFileSync(process.argv[2]))) {
  try {
    const session = await ort.InferenceSession.create(Buffer.from(c.model, 'base64'), { logSeverityLevel: 4 });
    const res = await session.run({ x: new ort.Tensor('float32', Float32Array.from(c.x), c.dims) });
    out.push(Array.from(res[session.outputNames[0]].data, (v) => (Number.isFinite(v) ? v : String(v))));
    await session.release();
  } catch (err) {
    out.push(String(err));
  }
}
fs.writeFileSync(process.argv[3], JSON.stringify(out));
