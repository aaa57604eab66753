#!/usr/bin/env node
// Runs one text through the official JavaScript SDK (WebSocket, CBOR) and prints its answers as JSON.
//
//   node ask.mjs ws://127.0.0.1:8000 'SELECT …; SELECT …'
//
// The user is root/root unless SURREAL_USER and SURREAL_PASS say otherwise.
import { Surreal, createRemoteEngines } from 'surrealdb';
import { WebSocket } from 'ws';

const [url, query] = process.argv.slice(2);
const { SURREAL_USER: username = 'root', SURREAL_PASS: password = 'root' } = process.env;
const db = new Surreal({ engines: createRemoteEngines(), websocketImpl: WebSocket });
await db.connect(url, { namespace: 'world', database: 'world', authentication: { username, password }, reconnect: false });
console.log(JSON.stringify(await db.query(query).collect()));
await db.close();
