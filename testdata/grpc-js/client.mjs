// Calls every method of the service by @grpc/grpc-js: node client.mjs HOST:PORT [COMPRESSION]
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import { blake3 } from '@noble/hashes/blake3.js';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';

const [address, compression] = process.argv.slice(2);
const root = fileURLToPath(new URL('../../proto', import.meta.url));
const definition = loader.loadSync('protocol/rpc/v1/rpc.proto', {
  includeDirs: [root], longs: String, enums: String, oneofs: true, defaults: false,
});
const { Service } = grpc.loadPackageDefinition(definition).protocol.rpc.v1;
const options = { 'grpc.max_receive_message_length': 4 << 20 }; // what the server says of itself
if (compression === 'gzip') options['grpc.default_compression_algorithm'] = grpc.compressionAlgorithms.gzip;
const client = new Service(address, grpc.credentials.createInsecure(), options);

let steps = 0;
async function step(name, f) {
  try {
    await f();
    steps++;
    console.log('ok   ' + name);
  } catch (err) {
    console.log('FAIL ' + name + '\n' + (err.stack ?? err));
    process.exitCode = 1;
  }
}

const unary = (method, request = {}, metadata = new grpc.Metadata(), more = {}) =>
  new Promise((resolve, reject) => client[method](request, metadata, more, (err, answer) => err ? reject(err) : resolve(answer)));

async function frames(method, request, metadata = new grpc.Metadata()) {
  const out = [];
  for await (const frame of client[method](request, metadata)) out.push(frame);
  return out;
}

// query gives the values of each result; a failed one is an Error.
async function query(text, variables, context) {
  const request = { query: text, context };
  if (variables) request.variables = { variables: Object.entries(variables).map(([key, value]) => ({ key, value })) };
  const got = await frames('Query', request);
  assert.equal(got[0].frame, 'begin');
  assert.equal(got.at(-1).frame, 'end');
  const results = Array.from({ length: got[0].begin.resultCount ?? 0 }, () => []);
  for (const { batch } of got.slice(1, -1)) {
    const i = batch.queryIndex ?? 0;
    if (batch.error) results[i] = new Error(batch.error.message);
    else results[i].push(...(batch.values?.values ?? []));
  }
  return results;
}

const uuid = (hex) => ({ value: Buffer.from(hex.replaceAll('-', ''), 'hex') });
const code = (name) => (err) => { assert.equal(err.code, grpc.status[name], err.message); return true; };
const user = { accessMethod: { user: { username: 'root', password: 'root' } } };

await step('GetCapabilities', async () => {
  const { capabilities: c } = await unary('GetCapabilities', { client: { name: 'grpc-js', version: '1' } });
  assert.equal(c.serverVersion[0], '3');
  assert.ok(c.capabilities.includes('SESSIONS') && c.capabilities.includes('EXPORT_DIRECTORY'));
  assert.equal(c.limits.maxMessageBytes, '4194304');
});
await step('Health', () => unary('Health'));
await step('a call without an identity', () => assert.rejects(query('RETURN 1'), code('PERMISSION_DENIED')));
await step('a wrong password', () => assert.rejects(
  unary('Signin', { accessMethod: { user: { username: 'root', password: 'no' } } }), code('UNAUTHENTICATED')));
let token;
await step('Signin', async () => { token = (await unary('Signin', user)).tokens.access; assert.ok(token); });
await step('Use', async () => {
  const at = await unary('Use', { namespace: { some: 'test' }, database: { some: 'test' } });
  assert.deepEqual([at.namespace, at.database], ['test', 'test']);
});
await step('Query', async () => {
  const [[one], made, read] = await query("RETURN 1; CREATE t:1 SET name = 'Ada'; SELECT * FROM t");
  assert.equal(one.int64, '1');
  assert.deepEqual(made, read);
  assert.equal(read[0].object.items[1].value.string, 'Ada');
});
await step('an error of a statement', async () => assert.match((await query("THROW 'x'"))[0].message, /An error occurred: x/));
await step('an error of a text', () => assert.rejects(query('SELECT FROM'), code('INVALID_ARGUMENT')));
await step('the details of an error', async () => {
  const err = await query('SELECT FROM').catch((e) => e);
  const bin = err.metadata.get('grpc-status-details-bin')[0];
  assert.ok(bin.includes('type.googleapis.com/surrealdb.protocol.v1.SurrealError') && bin.includes('Parse error'));
});
// plain is a value without the names that proto-loader adds for the members of oneofs, and with bytes as text.
function plain(v) {
  if (Buffer.isBuffer(v)) return 'bytes ' + v.toString('hex');
  if (Array.isArray(v)) return v.map(plain);
  if (typeof v !== 'object' || v === null) return v;
  return Object.fromEntries(Object.entries(v).filter(([, x]) => !(typeof x === 'string' && x in v)).sort()
    .map(([k, x]) => [k, plain(x)]));
}
const point = (x, y) => ({ x, y });
const line = (...at) => ({ points: at.map(([x, y]) => point(x, y)) });
const ring = line([1, 1], [9, 1], [9, 9], [1, 1]);
const polygon = { exterior: ring, interiors: [line([5, 2], [6, 2], [6, 3], [5, 2])] };
const int = (n) => ({ int64: String(n) });
const aUUID = uuid('018d5e1b-7d3c-7c9a-8f6e-000000000001');
const values = [
  { none: {} }, { null: {} }, { bool: true }, { bool: false }, int('-9223372036854775808'), int('9223372036854775807'), int(0),
  { float64: 1.5 }, { float64: -0 }, { float64: NaN }, { float64: -Infinity }, { decimal: { value: '1.50' } },
  { string: 'ü' }, { string: '' }, { bytes: Buffer.from([0, 255]) }, { duration: { seconds: '3', nanos: 5 } },
  { datetime: { seconds: '-5', nanos: 7 } }, { uuid: aUUID }, { table: 't' }, { file: { bucket: 'b', key: '/k' } }, { regex: 'a+' },
  { recordId: { table: 't', id: { int64: '-1' } } }, { recordId: { table: 't', id: { string: 'x' } } },
  { recordId: { table: 't', id: { uuid: aUUID } } }, { recordId: { table: 't', id: { array: { values: [int(1), { string: 'a' }] } } } },
  { recordId: { table: 't', id: { object: { items: [{ key: 'a', value: int(1) }] } } } },
  { recordId: { table: 't', id: { range: { start: { inclusive: { int64: '1' } }, end: { exclusive: { int64: '5' } } } } } },
  { recordId: { table: 't', id: { range: { start: { unbounded: {} }, end: { unbounded: {} } } } } },
  { geometry: { point: point(1, 2) } }, { geometry: { line: line([1, 2], [3, 4]) } }, { geometry: { polygon } },
  { geometry: { multiPoint: line([1, 2], [3, 4]) } }, { geometry: { multiLine: { lines: [line([1, 2], [3, 4])] } } },
  { geometry: { multiPolygon: { polygons: [polygon] } } }, { geometry: { collection: { geometries: [{ point: point(1, 2) }] } } },
  { range: { start: { inclusive: int(1) }, end: { unbounded: {} } } }, { range: { start: { exclusive: int(1) }, end: { inclusive: int(2) } } },
  { object: { items: [{ key: 'a', value: { none: {} } }, { key: 'b', value: { null: {} } }] } }, { object: {} },
  { array: { values: [int(1), { string: 'a' }, { array: {} }] } }, { set: { values: [int(1), int(2)] } },
];
for (const v of values) {
  const kind = Object.keys(v)[0];
  await step('a value comes back: ' + JSON.stringify(plain(v)), async () => {
    const [[got]] = await query('RETURN $v', { v });
    assert.equal(got.value, kind);
    assert.deepEqual(JSON.parse(JSON.stringify(plain(got))), JSON.parse(JSON.stringify(plain(v))));
    if (kind === 'float64') assert.ok(Object.is(got.float64, v.float64));
    const [[again]] = await query('RETURN $v', { v: got });
    assert.deepEqual(plain(again), plain(got));
  });
}
await step('every member of Value is among them', () => {
  const type = definition['protocol.v1.Value'] ?? definition['surrealdb.protocol.v1.Value'];
  const members = type.type.field.map((f) => f.name.replace(/_(.)/g, (_, c) => c.toUpperCase()));
  assert.equal(members.length, 21);
  const tried = new Set([...values.map((v) => Object.keys(v)[0]), 'stringRecordId']);
  assert.deepEqual(members.filter((m) => !tried.has(m)), []);
});
await step('the text of a record id', async () => {
  const [[got]] = await query('RETURN $v', { v: { stringRecordId: 't:x' } });
  assert.deepEqual(plain(got), { recordId: { id: { string: 'x' }, table: 't' } });
});
await step('a broken value is refused', () => assert.rejects(query('RETURN $v', { v: { uuid: { value: Buffer.from('short') } } }), code('INVALID_ARGUMENT')));
await step('AttachSession, variables, ResetSession, DetachSession', async () => {
  const made = await unary('AttachSession');
  assert.equal(made.created, true);
  const context = { session: made.session };
  assert.ok(!(await unary('AttachSession', { context })).created);
  await unary('Authenticate', { context, token });
  await unary('Use', { context, namespace: { some: 'test' }, database: { some: 'test' } });
  await unary('SetVariable', { context, name: 'x', value: { int64: '7' } });
  assert.equal((await query('RETURN $x', null, context))[0][0].int64, '7');
  await unary('UnsetVariable', { context, name: 'x' });
  assert.equal((await query('RETURN $x', null, context))[0][0].value, 'none');
  await unary('ResetSession', { context });
  await assert.rejects(query('RETURN 1', null, context), code('PERMISSION_DENIED'));
  await unary('DetachSession', { context });
  await assert.rejects(query('RETURN 1', null, context), code('NOT_FOUND'));
});
await step('BeginTransaction, CommitTransaction, CancelTransaction', async () => {
  for (const [end, left] of [['CommitTransaction', 1], ['CancelTransaction', 0]]) {
    const { transaction } = await unary('BeginTransaction');
    const context = { transaction };
    await query(`CREATE tx_${end}`, null, context);
    await unary(end, { context });
    const [rows] = await query(`SELECT * FROM tx_${end}`);
    assert.equal(rows instanceof Error ? 0 : rows.length, left);
  }
});
await step('Signup, RefreshTokens, RevokeTokens, Invalidate', async () => {
  await query(`DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNUP (CREATE user SET pass = $pass) SIGNIN (SELECT * FROM user WHERE pass = $pass)
    WITH REFRESH DURATION FOR TOKEN 1h, FOR SESSION 1d`);
  const { session } = await unary('AttachSession');
  const context = { session };
  const credentials = { namespace: 'test', database: 'test', access: 'acc', variables: { variables: [{ key: 'pass', value: { string: 'p' } }] } };
  const up = (await unary('Signup', { context, credentials })).tokens;
  assert.ok(up.access && up.refresh && Number(up.expiresAt.seconds) > Date.now() / 1000);
  const fresh = (await unary('RefreshTokens', { context, refresh: up.refresh })).tokens;
  assert.ok(fresh.refresh && fresh.refresh !== up.refresh);
  await assert.rejects(unary('RefreshTokens', { context, refresh: up.refresh }), code('UNAUTHENTICATED'));
  await unary('RevokeTokens', { context, refresh: fresh.refresh });
  await assert.rejects(unary('RefreshTokens', { context, refresh: fresh.refresh }), code('UNAUTHENTICATED'));
  await unary('Invalidate', { context });
  await assert.rejects(query('RETURN 1', null, context), code('PERMISSION_DENIED'));
  await unary('Authenticate', { context, token: fresh.access });
  await unary('RevokeTokens', { access: fresh.access });
  await assert.rejects(unary('Authenticate', { context, token: fresh.access }), code('UNAUTHENTICATED'));
  await assert.rejects(query('RETURN 1', null, context), code('UNAUTHENTICATED'));
  await unary('DetachSession', { context });
});
await step('the Authorization header', async () => {
  const metadata = new grpc.Metadata();
  metadata.set('authorization', 'Bearer ' + token);
  const got = await frames('Query', { query: 'RETURN 1' }, metadata);
  assert.equal(got.at(-1).frame, 'end');
});
await step('Subscribe', async () => {
  await query('DEFINE TABLE live');
  const stream = client.Subscribe({ query: { query: 'LIVE SELECT * FROM live' } });
  const seen = [];
  for await (const frame of stream) {
    seen.push(frame);
    if (frame.begin) await query('CREATE live:1; UPDATE live:1 SET a = 1; DELETE live:1');
    if (seen.length === 4) await query('KILL $id', { id: { uuid: seen[0].begin.liveQueryId } });
  }
  assert.deepEqual(seen.slice(1, 4).map((f) => f.notification.action), ['ACTION_CREATED', 'ACTION_UPDATED', 'ACTION_DELETED']);
  assert.equal(seen[3].notification.value, undefined);
  assert.equal(seen.at(-1).end.reason, 'SUBSCRIBE_END_REASON_KILLED');
});
await step('results of 16 MiB come in split messages', async () => {
  await query("FOR $i IN 0..16 { CREATE large SET x = string::repeat('x', 1048576) }");
  const batches = (await frames('Query', { query: 'SELECT * FROM large' })).filter((f) => f.batch).map((f) => f.batch);
  const rows = batches.flatMap((b) => b.values?.values ?? []);
  assert.equal(rows.length, 16);
  assert.ok(batches.length >= 5, `${batches.length} messages`);
  rows.forEach((r) => assert.equal(r.object.items[1].value.string.length, 1 << 20));
  batches.forEach((b, i) => assert.equal(b.batchIndex ?? '0', String(i)));
});
await step('a message over the limit', () => assert.rejects(
  query('RETURN $v', { v: { string: 'x'.repeat(5 << 20) } }), code('RESOURCE_EXHAUSTED')));
await step('a value over the limit', async () => assert.match(
  (await query("LET $s = string::repeat('x', 1000000); RETURN [$s, $s, $s, $s, $s]"))[1].message, /more than a message may have/));
await step('100 streams at once', async () => {
  const all = await Promise.all(Array.from({ length: 100 }, (_, i) => query(`RETURN ${i}; SELECT * FROM t`)));
  all.forEach(([[v]], i) => assert.equal(v.int64 ?? v, String(i)));
});
await step('100 streams that wait at once', async () => {
  const streams = Array.from({ length: 100 }, () => client.Query({ query: 'SLEEP 1h' }));
  await Promise.all(streams.map((s) => new Promise((resolve, reject) => s.once('data', resolve).once('error', reject))));
  await Promise.all(streams.map((s) => new Promise((resolve) => { s.once('error', resolve); s.cancel(); })));
});
await step('Subscribe by id, and the end of its session', async () => {
  const { session } = await unary('AttachSession');
  const context = { session };
  await unary('Authenticate', { context, token });
  await unary('Use', { context, namespace: { some: 'test' }, database: { some: 'test' } });
  const [[id]] = await query('LIVE SELECT * FROM live', null, context);
  const seen = [];
  for await (const frame of client.Subscribe({ context, liveQueryId: id.uuid })) {
    seen.push(frame);
    if (frame.begin) await query('CREATE live:2');
    if (frame.notification) await unary('DetachSession', { context });
  }
  assert.deepEqual(seen.map((f) => f.frame), ['begin', 'notification', 'end']);
  assert.equal(seen[2].end.reason, 'SUBSCRIBE_END_REASON_SESSION_CLOSED');
});
await step('a deadline', async () => {
  const [result] = await new Promise((resolve, reject) => {
    const out = [];
    client.Query({ query: 'SLEEP 10s', context: { timeout: { nanos: 100_000_000 } } })
      .on('data', (f) => f.batch && out.push(f.batch)).on('end', () => resolve(out)).on('error', reject);
  });
  assert.match(result.error.message, /exceeded the timeout: 100ms/);
  await assert.rejects(unary('SetVariable', { name: 'a' }), code('INVALID_ARGUMENT'));
});
await step('a cancelled call', () => new Promise((resolve, reject) => {
  const stream = client.Query({ query: 'SLEEP 60s' });
  stream.on('data', () => stream.cancel());
  stream.on('error', (err) => err.code === grpc.status.CANCELLED ? resolve() : reject(err));
}));
const hex = (b) => Buffer.from(b).toString('hex');
async function exported() {
  const got = await frames('ExportSql', {});
  const text = Buffer.concat(got.filter((f) => f.chunk).map((f) => f.chunk.data));
  const { trailer } = got.at(-1);
  assert.equal(trailer.bytes, String(text.length));
  assert.equal(trailer.blake3, hex(blake3(text)));
  return text;
}
const imported = (text, sum = hex(blake3(text))) => new Promise((resolve, reject) => {
  const call = client.ImportSql((err, answer) => err ? reject(err) : resolve(answer));
  call.on('error', () => {});
  call.write({ begin: {} });
  for (let i = 0; i < text.length; i += 1 << 18) call.write({ chunk: { data: text.subarray(i, i + (1 << 18)) } });
  call.write({ trailer: { bytes: text.length, blake3: sum } });
  call.end();
});
await step('ExportSql and ImportSql', async () => {
  const text = await exported();
  await unary('Use', { database: { some: 'copy' } });
  await assert.rejects(imported(text, 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'), code('INVALID_ARGUMENT'));
  await imported(text);
  assert.ok(text.equals(await exported()));
  await unary('Use', { database: { some: 'test' } });
});
await step('ExportDirectory', async () => {
  const got = await frames('ExportDirectory', { compression: 'EXPORT_COMPRESSION_ZSTD' });
  assert.equal(got[0].frame, 'begin');
  assert.equal(got.at(-1).frame, 'end');
  const names = got.filter((f) => f.fileBegin).map((f) => f.fileBegin.relativePath);
  assert.equal(names[0], 'schema.surql.zst');
  assert.equal(names.at(-1), 'manifest.json');
  assert.equal(got.at(-1).end.fileCount, String(names.length));
});
await step('ExportMlModel', async () => {
  const file = readFileSync(new URL('../models/svml/celsius.svml', import.meta.url));
  const headers = { authorization: 'Basic ' + btoa('root:root'), 'service-ns': 'test', 'service-db': 'test' };
  const put = await fetch(`http://${address}/ml/import`, { method: 'POST', headers, body: file });
  assert.equal(put.status, 200, await put.text());
  const got = await frames('ExportMlModel', { name: 'units::celsius', version: '1.0.0' });
  const bytes = Buffer.concat(got.filter((f) => f.chunk).map((f) => f.chunk.data));
  assert.ok(bytes.equals(file));
  assert.equal(got.at(-1).trailer.blake3, hex(blake3(bytes)));
});
await step('ExportMlModel of none', () => assert.rejects(frames('ExportMlModel', { name: 'm', version: '1.0.0' }), code('NOT_FOUND')));
await step('every method was called', () => {
  const own = readFileSync(fileURLToPath(import.meta.url), 'utf8');
  for (const name of Object.keys(Service.service)) assert.match(own, new RegExp(`'${name}'|client\\.${name}\\(`));
});
console.log(steps + ' steps');
client.close();
