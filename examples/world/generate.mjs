#!/usr/bin/env node
// Writes the world as ServiceQL to standard output:
//
//   node generate.mjs | nacre import --ns world --db world -
//
// country:DE holds the nested document of the country, ->borders-> links neighbours, and city:2950159
// holds a GeoJSON point and a link to its country.
import { once } from 'node:events';
import { cities, countries } from './source.mjs';

const BATCH = 500;
const text = (s) => JSON.stringify(s).replaceAll('\\/', '/');
const plain = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A JSON value as a literal: JSON is one already, but an empty key or a lone surrogate is not wanted. */
function literal(v) {
  if (v === null || v === undefined) return 'NONE';
  if (Array.isArray(v)) return `[${v.map(literal).join(', ')}]`;
  if (typeof v === 'object') {
    const fields = Object.entries(v).map(([k, x]) => `${plain.test(k) ? k : text(k)}: ${literal(x)}`);
    return `{ ${fields.join(', ')} }`;
  }
  return typeof v === 'string' ? text(v) : String(v);
}

async function emit(s) {
  if (!process.stdout.write(s)) await once(process.stdout, 'drain');
}

async function insert(kind, rows) {
  for (let i = 0; i < rows.length; i += BATCH) {
    await emit(`INSERT ${kind} [\n${rows.slice(i, i + BATCH).join(',\n')}\n];\n`);
  }
}

await emit(`OPTION IMPORT;
DEFINE TABLE country TYPE NORMAL SCHEMALESS PERMISSIONS NONE;
DEFINE FIELD name.common ON country TYPE string;
DEFINE FIELD region ON country TYPE string;
DEFINE TABLE borders TYPE RELATION IN country OUT country PERMISSIONS NONE;
DEFINE TABLE city TYPE NORMAL SCHEMALESS PERMISSIONS NONE;
DEFINE FIELD country ON city TYPE record<country>;
DEFINE FIELD loc ON city TYPE geometry<point>;
DEFINE FIELD name ON city TYPE string;
DEFINE FIELD population ON city TYPE int;
DEFINE INDEX by_country ON city FIELDS country;
`);

await insert('INTO country', countries.map((c) => {
  const { borders, ...rest } = c;
  return literal({ id: c.cca2, ...rest });
}));

const code = new Map(countries.map((c) => [c.cca3, c.cca2]));
await insert('RELATION INTO borders', countries.flatMap((c) => c.borders.map((b) =>
  `{ id: ['${c.cca2}', '${code.get(b)}'], in: country:${c.cca2}, out: country:${code.get(b)} }`)));

await insert('INTO city', cities.map((c) => {
  const [lon, lat] = c.loc.coordinates;
  return `{ id: ${c.cityId}, name: ${text(c.name)}, country: country:${c.country}, population: ${c.population}, ` +
    `kind: ${text(c.featureCode)}, loc: { type: 'Point', coordinates: [${lon}, ${lat}] } }`;
}));
