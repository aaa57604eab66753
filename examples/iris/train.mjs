#!/usr/bin/env node
// Trains a model on iris.csv (R. A. Fisher, 1936; public domain) and writes it as ONNX:
//
//   node train.mjs iris.onnx
//
// It is a softmax regression by gradient descent: four measurements in centimetres give the chances of the three species.
// A model of scikit-learn or PyTorch is exported to ONNX in the same way; this script needs nothing but Node.
import * as fs from 'node:fs';

const lines = fs.readFileSync(new URL('iris.csv', import.meta.url), 'utf8').trim().split('\n').slice(1);
const species = ['setosa', 'versicolor', 'virginica'];
const rows = lines.map((line) => line.split(','));
const x = rows.map((r) => r.slice(0, 4).map(Number));
const y = rows.map((r) => species.indexOf(r[4]));

const weights = Array.from({ length: 4 }, () => [0, 0, 0]);
const bias = [0, 0, 0];
for (let step = 0; step < 3000; step++) {
  const dw = Array.from({ length: 4 }, () => [0, 0, 0]);
  const db = [0, 0, 0];
  x.forEach((row, i) => {
    const p = chances(row);
    for (let k = 0; k < 3; k++) {
      const wrong = p[k] - (y[i] === k ? 1 : 0);
      db[k] += wrong;
      row.forEach((v, j) => (dw[j][k] += wrong * v));
    }
  });
  for (let k = 0; k < 3; k++) {
    bias[k] -= (0.1 * db[k]) / x.length;
    for (let j = 0; j < 4; j++) weights[j][k] -= (0.1 * dw[j][k]) / x.length;
  }
}
const right = x.filter((row, i) => best(chances(row)) === y[i]).length;
console.error(`${right} of ${x.length} flowers are named as they were`);
fs.writeFileSync(process.argv[2], model());

function chances(row) {
  const scores = bias.map((b, k) => b + row.reduce((sum, v, j) => sum + v * weights[j][k], 0));
  const top = Math.max(...scores);
  const e = scores.map((s) => Math.exp(s - top));
  const sum = e.reduce((a, b) => a + b);
  return e.map((v) => v / sum);
}

function best(p) {
  return p.indexOf(Math.max(...p));
}

/** The ONNX model: y = Softmax(x · w + b). ONNX is protobuf; these few lines write the fields that are needed. */
function model() {
  const node = (op, inputs, output) =>
    Buffer.concat([...inputs.map((name) => text(1, name)), text(2, output), text(4, op)]);
  const tensor = (name, dims, list) =>
    Buffer.concat([...dims.map((d) => int(1, d)), int(2, 1), text(8, name), bytes(9, Buffer.from(new Float32Array(list).buffer))]);
  const value = (name, dims) => {
    const shape = Buffer.concat(dims.map((d) => bytes(1, typeof d === 'string' ? text(2, d) : int(1, d))));
    return Buffer.concat([text(1, name), bytes(2, bytes(1, Buffer.concat([int(1, 1), bytes(2, shape)])))]);
  };
  const graph = Buffer.concat([
    bytes(1, node('MatMul', ['x', 'w'], 'm')),
    bytes(1, node('Add', ['m', 'b'], 's')),
    bytes(1, node('Softmax', ['s'], 'y')),
    text(2, 'iris'),
    bytes(5, tensor('w', [4, 3], weights.flat())),
    bytes(5, tensor('b', [3], bias)),
    bytes(11, value('x', ['n', 4])),
    bytes(12, value('y', ['n', 3])),
  ]);
  return Buffer.concat([int(1, 8), text(2, 'train.mjs'), bytes(7, graph), bytes(8, int(2, 17))]);
}

function varint(n) {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
}
function int(field, n) {
  return Buffer.concat([varint(field * 8), varint(n)]);
}
function bytes(field, b) {
  return Buffer.concat([varint(field * 8 + 2), varint(b.length), b]);
}
function text(field, s) {
  return bytes(field, Buffer.from(s));
}
