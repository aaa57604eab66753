#!/usr/bin/env node
// Prints the raw documents as JSON lines ({"country": …} and {"city": …}), for whoever wants to check an answer.
import { cities, countries } from './source.mjs';

const out = [];
for (const country of countries) out.push(JSON.stringify({ country }));
for (const city of cities) out.push(JSON.stringify({ city }));
process.stdout.write(out.join('\n') + '\n');
