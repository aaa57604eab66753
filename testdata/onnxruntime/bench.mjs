// Computes rows of the models of `go test -bench Rows ./engine/ml` (BENCH_MODELS=DIR writes them) with onnxruntime-web,
// in one thread: node bench.mjs DIR
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ort from 'onnxruntime-web';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const columns = { linear20: 20, mlp64: 64, forest100: 20 };
const rows = 1000;
for (const [name, width] of Object.entries(columns)) {
  const session = await ort.InferenceSession.create(fs.readFileSync(path.join(process.argv[2], name + '.onnx')));
  const x = Float32Array.from({ length: rows * width }, () => (Math.random() + Math.random() + Math.random() - 1.5) / 2);
  const feeds = { x: new ort.Tensor('float32', x, [rows, width]) };
  let n = 0;
  for (let i = 0; i < 3; i++) await session.run(feeds);
  const began = process.cpuUsage();
  while (process.cpuUsage(began).user < 1e6) {
    await session.run(feeds);
    n += rows;
  }
  const used = process.cpuUsage(began);
  console.log(`${name} ${Math.round(n / ((used.user + used.system) / 1e6))} rows/s of CPU`);
}
