// Calls every method of the service by @grpc/grpc-js: node client.mjs HOST:PORT [SERVICE]
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import { blake3 } from '@noble/hashes/blake3.js';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';

const [address, compression] = process.argv.slice(2);
const root = fileURLToPath(new URL('../../proto', import.meta.url));
const definition = loader.loadSync('protocol/rpc/v1/rpc.proto', {
  includeDirs: [root], longs: String, enums: String, oneofs: true, defaults: false,
});
const { Service } = grpc.loadPackageDefinition(definition).protocol.rpc.v1;
const options = { 'grpc.max_receive_message_length': -1 };
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
await step('every kind of value comes back', async () => {
  const values = [
    { none: {} }, { null: {} }, { bool: true }, { int64: '-9223372036854775808' }, { float64: 1.5 }, { decimal: { value: '1.50' } },
    { string: 'ü' }, { bytes: Buffer.from([0, 255]) }, { duration: { seconds: '3', nanos: 5 } }, { datetime: { seconds: '-5', nanos: 7 } },
    { uuid: uuid('018d5e1b-7d3c-7c9a-8f6e-000000000001') }, { table: 't' },
    { recordId: { table: 't', id: { array: { values: [{ int64: '1' }] } } } }, { recordId: { table: 't', id: { string: 'x' } } },
    { geometry: { point: { x: 1, y: 2 } } }, { geometry: { line: { points: [{ x: 1, y: 2 }, { x: 3, y: 4 }] } } },
    { range: { start: { inclusive: { int64: '1' } }, end: { unbounded: {} } } }, { regex: 'a+' },
    { object: { items: [{ key: 'a', value: { none: {} } }, { key: 'b', value: { null: {} } }] } },
    { array: { values: [{ int64: '1' }, { string: 'a' }] } }, { set: { values: [{ int64: '1' }, { int64: '2' }] } },
  ];
  const plain = (v) => JSON.stringify(v, (k, x) => ['value', 'id', 'bound', 'geometry'].includes(k) && typeof x === 'string' && k !== 'geometry'
    && ['none', 'null', 'bool'].includes(x) ? undefined : x);
  for (const v of values) {
    const [[got]] = await query('RETURN $v', { v });
    const kind = Object.keys(v)[0];
    assert.equal(got.value, kind);
    const [[again]] = await query('RETURN $v', { v: got });
    assert.equal(plain(again), plain(got));
  }
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
  const [rows] = await query('SELECT * FROM large');
  assert.equal(rows.length, 16);
  assert.equal(rows[15].object.items[1].value.string.length, 1 << 20);
});
await step('a message over the limit', () => assert.rejects(
  query('RETURN $v', { v: { string: 'x'.repeat(5 << 20) } }), code('RESOURCE_EXHAUSTED')));
await step('a value over the limit', async () => assert.match(
  (await query("LET $s = string::repeat('x', 1000000); RETURN [$s, $s, $s, $s, $s]"))[1].message, /more than a message may have/));
await step('100 streams at once', async () => {
  const all = await Promise.all(Array.from({ length: 100 }, (_, i) => query(`RETURN ${i}; SELECT * FROM t`)));
  all.forEach(([[v]], i) => assert.equal(v.int64 ?? v, String(i)));
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
await step('ExportMlModel', () => assert.rejects(frames('ExportMlModel', { name: 'm', version: '1.0.0' }), code('NOT_FOUND')));
console.log(steps + ' steps');
client.close();
