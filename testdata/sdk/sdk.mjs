// Drives a server with the official JavaScript client, unchanged.
//
//   node sdk.mjs ws://127.0.0.1:8000/rpc root root
//   node sdk.mjs http://127.0.0.1:8000/rpc root root
//
// Prints one line for each step and exits with 1 at the first that fails.
import assert from 'node:assert/strict';
import { builderSteps } from './builders.mjs';
import { valueSteps } from './values.mjs';
import { BoundExcluded, BoundIncluded, DateTime, Decimal, Duration, RecordId, RecordIdRange, Surreal, Table, Uuid, createRemoteEngines, eq } from 'surrealdb';

// Node before 22 has no WebSocket. The package delivers frames that arrive together one after the other without a turn of
// the event loop between them, as browsers never do; the client (2.0.8) then loses live notifications.
if (!globalThis.WebSocket) {
  const { WebSocket } = await import('ws');
  globalThis.WebSocket = class extends WebSocket {
    constructor(url, protocols) { super(url, protocols, { allowSynchronousEvents: false }); }
  };
}

const [url, username, password] = process.argv.slice(2);
const socket = url.startsWith('ws');
let engine; // the client's transport, for methods that the client has no words for
const capture = (make) => (context) => (engine = make(context));
const db = new Surreal({ engines: Object.fromEntries(Object.entries(createRemoteEngines()).map(([k, v]) => [k, capture(v)])) });
const person = new Table('person');
const until = async (done) => { while (!done()) await new Promise((r) => setTimeout(r, 2)); };
const names = (rows) => rows.map((r) => r.name).sort();

const steps = {
  async connect() {
    await db.connect(url, { namespace: 'sdk', database: socket ? 'ws' : 'http', authentication: { username, password } });
    assert.equal(db.status, 'connected');
    await db.use({ namespace: 'sdk', database: socket ? 'ws' : 'http' });
    for (const name of socket ? ['ws', 'ws_copy'] : ['http', 'http_copy']) await db.query(`REMOVE DATABASE IF EXISTS ${name}; DEFINE DATABASE ${name}`);
  },
  async version() {
    const { version } = await db.version();
    assert.match(version, /^(surrealdb-)?3\.\d+\.\d+$/);
  },
  async use() {
    const at = await db.use({ namespace: 'sdk', database: socket ? 'ws' : 'http' });
    assert.deepEqual({ ...at }, { namespace: 'sdk', database: socket ? 'ws' : 'http' });
  },
  async 'query with bindings'() {
    const [one, two] = await db.query('RETURN $a + 1; RETURN $b', { a: 1, b: ['x'] });
    assert.equal(one, 2);
    assert.deepEqual(two, ['x']);
  },
  async 'query error'() {
    await assert.rejects(() => db.query("THROW 'no'").collect(), /An error occurred: no/);
  },
  async 'parse error'() {
    await assert.rejects(() => db.query('SELEC nothing FROM').collect(), /Parse error/);
  },
  async 'every kind of value'() {
    const values = {
      int: 1, float: 1.5, text: 'héllo ⟨x⟩', yes: true, nothing: null, list: [1, [2]], nested: { a: { b: 1 } },
      uuid: new Uuid('01a1ff8e-6163-7761-a50f-13f3db900459'), record: new RecordId('person', 'ada'), table: new Table('person'),
      duration: new Duration('1h30m'), decimal: new Decimal('1.25'),
      datetime: new DateTime('2024-01-02T03:04:05.000000006Z'),
    };
    const [back] = await db.query('RETURN $values', { values });
    for (const [name, v] of Object.entries(values)) {
      assert.equal(back[name]?.toString(), v?.toString(), name);
      assert.equal(back[name]?.constructor?.name, v?.constructor?.name, name);
    }
    const [bytes] = await db.query('RETURN $bytes', { bytes: new Uint8Array([1, 2, 3]) });
    assert.deepEqual([...new Uint8Array(bytes)], [1, 2, 3]);
  },
  async create() {
    const ada = await db.create(new RecordId('person', 'ada')).content({ name: 'Ada', age: 36 });
    assert.equal(ada.id.toString(), 'person:ada');
    const [bob] = await db.create(person).content({ name: 'Bob', age: 20 });
    assert.equal(bob.name, 'Bob');
  },
  async 'create twice'() {
    await assert.rejects(() => Promise.resolve(db.create(new RecordId('person', 'ada')).content({})), /already exists/);
  },
  async select() {
    assert.deepEqual(names(await db.select(person)), ['Ada', 'Bob']);
    assert.equal((await db.select(new RecordId('person', 'ada'))).age, 36);
    assert.equal(await db.select(new RecordId('person', 'nobody')), undefined);
  },
  async 'update, merge, patch, upsert'() {
    const ada = new RecordId('person', 'ada');
    assert.equal((await db.update(ada).merge({ age: 37 })).age, 37);
    assert.deepEqual((await db.update(ada).patch([{ op: 'add', path: '/tags', value: ['x'] }])).tags, ['x']);
    assert.equal((await db.update(ada).content({ name: 'Ada', age: 38 })).tags, undefined);
    assert.equal((await db.upsert(new RecordId('person', 'eve')).content({ name: 'Eve' })).name, 'Eve');
  },
  async insert() {
    const rows = await db.insert(new Table('item'), [{ id: 1, n: 1 }, { id: 2, n: 2 }, { id: 3, n: 3 }]);
    assert.equal(rows.length, 3);
    const range = new RecordIdRange('item', new BoundIncluded(1), new BoundExcluded(3));
    assert.deepEqual((await db.select(range)).map((r) => r.n), [1, 2]);
  },
  async relate() {
    const edge = await db.relate(new RecordId('person', 'ada'), new Table('knows'), new RecordId('person', 'eve'), { since: 1833 });
    assert.equal(edge.since, 1833);
    const [friends] = await db.query('SELECT VALUE ->knows->person.name FROM ONLY person:ada');
    assert.deepEqual(friends, ['Eve']);
  },
  async gql() {
    const mine = engine; // later steps make clients of their own
    const ask = async (...params) => {
      const [{ status, result }] = await mine.send({ method: 'gql', params });
      assert.equal(status, 'OK');
      return result;
    };
    const friends = 'MATCH (a:person {id: $a})-[k:knows]->(b:person) RETURN b.name AS name, k.since AS since';
    assert.deepEqual(await ask(friends, { a: new RecordId('person', 'ada') }), [{ name: 'Eve', since: 1833 }]);
    assert.deepEqual(await ask('MATCH (a:person) WHERE ELEMENT_ID(a) = $id RETURN a.name AS n', { id: 'person:eve' }), [{ n: 'Eve' }]);
    const [edge] = await ask('MATCH (:person)-[k:knows]->(b) RETURN k, b.id AS id');
    assert.equal(edge.id.toString(), 'person:eve');
    assert.equal(edge.k.out.toString(), 'person:eve');
    await assert.rejects(() => mine.send({ method: 'gql', params: ['MATCH (a RETURN a'] }), /Parse error/);
    if (!socket) return;
    const txn = await mine.begin();
    await mine.send({ method: 'gql', params: ["INSERT (:person {name: 'Gql'})"], txn });
    assert.deepEqual(await ask("MATCH (p:person {name: 'Gql'}) RETURN p.name AS n"), []);
    await mine.commit(txn);
    assert.deepEqual(await ask("MATCH (p:person {name: 'Gql'}) DELETE p RETURN count(*) AS n"), [{ n: 1 }]);
  },
  async run() {
    assert.equal(await db.run('math::max', [[1, 5, 3]]), 5);
    await db.query('DEFINE FUNCTION OVERWRITE fn::twice($n: int) { RETURN $n * 2 }');
    assert.equal(await db.run('fn::twice', [21]), 42);
  },
  async variables() {
    await db.set('answer', 42);
    assert.equal((await db.query('RETURN $answer'))[0], 42);
    await db.unset('answer');
    assert.equal((await db.query('RETURN $answer'))[0], undefined);
  },
  async delete() {
    assert.equal((await db.delete(new RecordId('person', 'eve'))).name, 'Eve');
    assert.equal((await db.delete(new Table('item'))).length, 3);
    assert.deepEqual(await db.select(new Table('item')), []);
  },
  async 'record user: sign up, sign in, sign out'() {
    await db.query(`
      DEFINE TABLE OVERWRITE user SCHEMALESS PERMISSIONS FOR select, update WHERE id = $auth.id;
      DEFINE ACCESS OVERWRITE account ON DATABASE TYPE RECORD
        SIGNUP (CREATE user SET email = $email, pass = crypto::argon2::generate($pass))
        SIGNIN (SELECT * FROM user WHERE email = $email AND crypto::argon2::compare(pass, $pass))
        DURATION FOR TOKEN 15m, FOR SESSION 12h;
      DELETE user`);
    const at = { namespace: 'sdk', database: socket ? 'ws' : 'http', access: 'account' };
    const other = new Surreal();
    await other.connect(url, { namespace: at.namespace, database: at.database });
    const { access } = await other.signup({ ...at, variables: { email: 'ada@example.com', pass: 'secret' } });
    assert.match(access, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.equal((await other.auth()).email, 'ada@example.com');
    await other.signin({ ...at, variables: { email: 'ada@example.com', pass: 'secret' } });
    assert.equal((await other.query('SELECT VALUE email FROM user'))[0][0], 'ada@example.com');
    await assert.rejects(() => other.signin({ ...at, variables: { email: 'ada@example.com', pass: 'wrong' } }));
    await other.authenticate(access);
    assert.equal((await other.auth()).email, 'ada@example.com');
    await other.invalidate();
    await other.close();
  },
  async 'wrong password'() {
    const other = new Surreal();
    await assert.rejects(async () => {
      await other.connect(url, { authentication: { username, password: 'nope' }, reconnect: false });
      await other.query('RETURN 1');
    });
    await other.close().catch(() => {});
  },
  async 'interactive transaction'() {
    if (!socket) return 'over WebSocket only';
    const tx = await db.beginTransaction();
    await tx.create(new RecordId('person', 'tx')).content({ name: 'Tx' });
    assert.equal(await db.select(new RecordId('person', 'tx')), undefined);
    await tx.commit();
    assert.equal((await db.select(new RecordId('person', 'tx'))).name, 'Tx');
    const undone = await db.beginTransaction();
    await undone.delete(new RecordId('person', 'tx'));
    await undone.cancel();
    assert.equal((await db.select(new RecordId('person', 'tx'))).name, 'Tx');
  },
  async 'a session of its own'() {
    if (!socket) return 'over WebSocket only';
    const other = await db.newSession();
    await other.signin({ username, password });
    await other.use({ namespace: 'sdk', database: 'other' });
    await other.set('mine', 1);
    assert.equal((await db.query('RETURN $mine'))[0], undefined);
    assert.equal((await other.query('RETURN $mine'))[0], 1);
    await other.closeSession();
  },
  async 'refresh tokens'() {
    await db.query(`DEFINE ACCESS OVERWRITE account ON DATABASE TYPE RECORD
      SIGNUP (CREATE user SET email = $email, pass = crypto::argon2::generate($pass))
      SIGNIN (SELECT * FROM user WHERE email = $email AND crypto::argon2::compare(pass, $pass))
      WITH REFRESH DURATION FOR TOKEN 15m, FOR SESSION 12h; DELETE user`);
    const at = { namespace: 'sdk', database: socket ? 'ws' : 'http', access: 'account' };
    const other = new Surreal();
    await other.connect(url, { namespace: at.namespace, database: at.database });
    const first = await other.signup({ ...at, variables: { email: 'eve@example.com', pass: 'secret' } });
    assert.match(first.refresh, /^surreal-refresh-/);
    const second = await other.authenticate(first);
    assert.notEqual(second.refresh, undefined);
    assert.equal((await other.auth()).email, 'eve@example.com');
    await other.close();
    const third = new Surreal();
    await third.connect(url, { namespace: at.namespace, database: at.database });
    const renewed = await third.authenticate({ access: second.access, refresh: second.refresh });
    assert.equal((await third.auth()).email, 'eve@example.com');
    assert.match(renewed.access, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    await third.close();
  },
  async 'bearer key'() {
    const [, , grant] = await db.query(`DEFINE USER OVERWRITE robot ON DATABASE PASSWORD 'r' ROLES VIEWER;
      DEFINE ACCESS OVERWRITE robots ON DATABASE TYPE BEARER FOR USER; ACCESS robots GRANT FOR USER robot`);
    const other = new Surreal();
    const at = { namespace: 'sdk', database: socket ? 'ws' : 'http' };
    await other.connect(url, at);
    await other.signin({ ...at, access: 'robots', key: grant.grant.key });
    const [info] = await other.query('INFO FOR DB');
    assert.equal(typeof info.tables.person, 'string');
    await assert.rejects(() => other.query('DEFINE TABLE nope').collect(), /permission/i);
    await db.query('ACCESS robots REVOKE ALL');
    await assert.rejects(() => other.signin({ ...at, access: 'robots', key: grant.grant.key }));
    await other.close();
  },
  async 'API endpoints'() {
    await db.query(`DEFINE API OVERWRITE "/twice/:n<int>" FOR get THEN { { body: $request.params.n * 2 } }
      FOR post THEN { { status: 201, headers: { 'x-mine': 'yes' }, body: [$request.body, $request.query, $request.headers['x-in']] } }`);
    const api = db.api();
    const got = await api.get('/twice/21');
    assert.equal(got.body, 42);
    assert.equal(await api.get('/twice/21').value(), 42);
    const made = await api.post('/twice/1', { a: [1] }).header('x-in', 'in').query('q', 'z');
    assert.deepEqual([made.status, made.headers['x-mine'], made.body], [201, 'yes', [{ a: [1] }, { q: 'z' }, 'in']]);
    assert.equal((await api.get('/nowhere')).status, 404);
    await assert.rejects(() => Promise.resolve(api.get('/nowhere').value()));
    const direct = await fetch(url.replace(/^ws/, 'http').replace('/rpc', `/api/sdk/${socket ? 'ws' : 'http'}/twice/21`),
      { headers: { authorization: 'Basic ' + btoa(`${username}:${password}`) } });
    assert.deepEqual([direct.status, await direct.json()], [200, 42]);
  },
  async 'live query'() {
    if (!socket) return 'over WebSocket only';
    await db.query('DEFINE TABLE OVERWRITE watched');
    const live = await db.live(new Table('watched'));
    const seen = [];
    live.subscribe((m) => seen.push([m.action, m.recordId?.toString(), m.value?.a]));
    await db.query('CREATE watched:1 SET a = 1; UPDATE watched:1 SET a = 2; BEGIN; CREATE watched:2; CANCEL; DELETE watched:1').collect().catch(() => {});
    await until(() => seen.length >= 3);
    assert.deepEqual(seen, [['CREATE', 'watched:1', 1], ['UPDATE', 'watched:1', 2], ['DELETE', 'watched:1', 2]]);
    await live.kill();
    await db.query('CREATE watched:3');
    await db.query('RETURN 1');
    assert.equal(seen.length, 3);
  },
  async 'live query with a condition, and with patches'() {
    if (!socket) return 'over WebSocket only';
    const some = await db.live(new Table('watched')).where(eq('a', 5)).fields('a');
    const patches = await db.live(new Table('watched')).diff();
    const seen = [], diffs = [];
    some.subscribe((m) => seen.push(m.value));
    patches.subscribe((m) => diffs.push(m.value.map((p) => p.op + ' ' + p.path.replace(/^\/$/, ''))));
    await db.query('CREATE watched:5 SET a = 4, b = 1; UPDATE watched:5 SET a = 5');
    await until(() => seen.length >= 1 && diffs.length >= 2);
    assert.deepEqual(seen, [{ a: 5 }]);
    assert.deepEqual(diffs, [['replace '], ['replace /a']]);
    await some.kill();
    await patches.kill();
  },
  async 'live query by its own statement, ended with its table'() {
    if (!socket) return 'over WebSocket only';
    await db.query('DEFINE TABLE OVERWRITE gone');
    const [id] = await db.query('LIVE SELECT n FROM gone');
    const live = await db.liveOf(id);
    const seen = [];
    live.subscribe((m) => seen.push(m.action + ' ' + m.value?.n));
    await db.query('CREATE gone:1 SET n = 7');
    await until(() => seen.length >= 1);
    await db.query('REMOVE TABLE gone');
    await until(() => seen.length >= 2);
    assert.deepEqual(seen, ['CREATE 7', 'KILLED undefined']);
  },
  async 'live query of a session of its own'() {
    if (!socket) return 'over WebSocket only';
    const other = await db.forkSession();
    const live = await other.live(new Table('watched'));
    const seen = [];
    live.subscribe((m) => seen.push(m.value.a));
    const tx = await other.beginTransaction();
    await tx.create(new RecordId('watched', 'tx')).content({ a: 9 });
    await db.query('RETURN 1');
    assert.deepEqual(seen, []);
    await tx.commit();
    await until(() => seen.length >= 1);
    assert.deepEqual(seen, [9]);
    assert.equal((await db.sessions()).length, 1);
    await other.closeSession();
    await db.query('CREATE watched:after');
    assert.deepEqual(seen, [9]);
    assert.equal((await db.sessions()).length, 0);
  },
  async 'conflicting transactions'() {
    if (!socket) return 'over WebSocket only';
    const [one, two] = [await db.beginTransaction(), await db.beginTransaction()];
    const ada = new RecordId('person', 'ada');
    await one.update(ada).merge({ age: 1 });
    await two.update(ada).merge({ age: 2 });
    await one.commit();
    await assert.rejects(() => two.commit(), /conflict/i);
    assert.equal((await db.select(ada)).age, 1);
  },
  async 'reset'() {
    if (!socket) return 'over WebSocket only';
    const other = new Surreal();
    await other.connect(url, { namespace: 'sdk', database: 'ws', authentication: { username, password } });
    await other.reset();
    await assert.rejects(() => other.query('SELECT * FROM person').collect());
    await other.close();
  },
  async 'stream of a query'() {
    let rows = 0;
    for await (const frame of db.query('SELECT * FROM person; RETURN 1').stream()) if (frame.isValue()) rows++;
    assert.ok(rows >= 3);
  },
  async 'many at once'() {
    const all = await Promise.all(Array.from({ length: 200 }, (_, i) => db.query('RETURN $i', { i })));
    assert.deepEqual(all.map(([x]) => x), Array.from({ length: 200 }, (_, i) => i));
  },
  async 'a large result'() {
    const rows = Array.from({ length: 5000 }, (_, i) => ({ id: i, text: 'x'.repeat(200) }));
    for (let i = 0; i < rows.length; i += 1000) await db.insert(new Table('big'), rows.slice(i, i + 1000));
    const back = await db.select(new Table('big'));
    assert.equal(back.length, 5000);
    assert.equal(back[4999].text.length, 200);
    await db.query('REMOVE TABLE big');
  },
  async 'export and import'() {
    const dump = await db.export();
    assert.match(dump, /OPTION IMPORT/);
    assert.match(dump, /person/);
    await db.use({ namespace: 'sdk', database: socket ? 'ws_copy' : 'http_copy' });
    await db.import(dump);
    assert.deepEqual(names(await db.select(person)).slice(0, 2), ['Ada', 'Bob']);
    await db.use({ namespace: 'sdk', database: socket ? 'ws' : 'http' });
  },
};
const given = { db: () => db, url, username, password, socket, place: { namespace: 'sdk', database: socket ? 'ws' : 'http' } };
Object.assign(steps, valueSteps(given), builderSteps(given), {
  async close() {
    await db.close();
    assert.equal(db.status, 'disconnected');
  },
});

const limit = (p) => Promise.race([p, new Promise((_, no) => setTimeout(() => no(new Error('no answer within 20 s')), 20000).unref())]);
const only = process.env.SDK_STEP;
let failed = 0;
for (const [name, step] of Object.entries(steps)) {
  if (only && name !== 'connect' && name !== only) continue;
  try { console.log('ok  ', name, (await limit(step())) ?? ''); }
  catch (err) { failed++; console.log('FAIL', name, err?.stack ?? err); if (name === 'connect') break; }
}
process.exit(failed ? 1 : 0);
