// Replaces what would let a script leave the bounds of its runtime: code from text, and the built-in
// functions that do in one step (which nothing can stop) more than the limits allow.
(function (maxText, maxItems, maxDepth, depthOf) {
  'use strict';
  const { defineProperty, getPrototypeOf, keys } = Object;
  const { apply, construct } = Reflect;
  const { isArray } = Array;
  const floor = Math.floor;

  const check = (n, max, what) => {
    if (n > max) throw new RangeError(`${what} would be longer than ${max}`);
  };
  const text = (n) => check(n, maxText, 'a text');
  const items = (n) => check(n, maxItems, 'a list');
  const put = (o, name, value) => defineProperty(o, name, { value, writable: true, configurable: true, enumerable: false });
  const wrap = (o, name, before) => {
    const f = o[name];
    if (typeof f !== 'function') return;
    put(o, name, { method(...args) { before(this, args); return apply(f, this, args); } }.method);
  };

  // No code from text.
  for (const f of [function () {}, async function () {}, function* () {}]) {
    defineProperty(getPrototypeOf(f), 'constructor', { value: undefined, writable: false, configurable: false });
  }
  for (const name of ['eval', 'Function']) delete globalThis[name];

  // Text.
  const sp = String.prototype;
  wrap(sp, 'repeat', (s, [n]) => text(`${s}`.length * Number(n)));
  for (const name of ['padStart', 'padEnd']) wrap(sp, name, (s, [n]) => text(Number(n)));
  for (const name of ['replace', 'replaceAll']) {
    wrap(sp, name, (s, args) => {
      if (typeof args[1] === 'function') return;
      const n = `${s}`.length, by = args[1] = `${args[1]}`;
      const longest = by.includes('$') ? by.length + n * floor(by.length / 2) : by.length;
      text(n + (n + 1) * longest);
    });
  }
  wrap(sp, 'split', (s) => items(`${s}`.length));
  const pattern = (p) => { if (typeof p === 'string') text(p.length * 64); return p; };
  for (const name of ['match', 'matchAll', 'search']) wrap(sp, name, (s, args) => { pattern(args[0]); });

  // Lists. An array may be long and empty, which costs nothing until it is walked.
  const length = (a) => (a === null || a === undefined ? 0 : Number(a.length) || 0);
  const ap = Array.prototype;
  for (const name of ['concat', 'copyWithin', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex',
    'flatMap', 'forEach', 'includes', 'indexOf', 'join', 'lastIndexOf', 'map', 'reduce', 'reduceRight', 'reverse', 'shift',
    'slice', 'some', 'sort', 'splice', 'toLocaleString', 'toReversed', 'toSorted', 'toSpliced', 'toString', 'unshift',
    'values', 'with']) {
    wrap(ap, name, (a, args) => {
      items(length(a));
      if (name === 'join') text(length(a) * (args[0] === undefined ? 1 : `${args[0]}`.length));
      if (name === 'concat') for (const x of args) if (isArray(x)) items(x.length);
    });
  }
  put(ap, Symbol.iterator, ap.values);
  put(ap, 'flat', { flat(depth = 1) {
    const out = [];
    const add = (a, left) => {
      items(a.length);
      for (let i = 0; i < a.length; i++) {
        if (!(i in a)) continue;
        if (left >= 1 && isArray(a[i])) add(a[i], left - 1);
        else out.push(a[i]);
      }
    };
    add(this, Number(depth) || 0);
    return out;
  } }.flat);
  wrap(Array, 'from', (_, [a]) => items(length(a)));
  wrap(Function.prototype, 'apply', (_, args) => items(length(args[1])));
  wrap(Reflect, 'apply', (_, args) => items(length(args[2])));
  wrap(Reflect, 'construct', (_, args) => items(length(args[1])));

  // Buffers and patterns.
  const guarded = (name, before) => {
    const f = globalThis[name];
    if (f === undefined) return;
    const g = new Proxy(f, {
      apply(_, self, args) { before(args); return apply(f, self, args); },
      construct(_, args, target) { before(args); return construct(f, args, target === g ? f : target); },
    });
    put(f.prototype, 'constructor', g);
    put(globalThis, name, g);
  };
  const size = ([n]) => { if (typeof n === 'number') text(n); else if (typeof n === 'object') items(length(n)); };
  for (const name of ['ArrayBuffer', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
    'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) guarded(name, size);
  guarded('RegExp', ([p]) => { pattern(p); });
  delete globalThis.Proxy;

  // JSON, whose own functions recurse where nothing bounds them.
  const { parse, stringify } = JSON;
  const revive = (holder, key, f) => {
    const v = holder[key];
    if (typeof v === 'object' && v !== null) {
      for (const k of isArray(v) ? [...v.keys()] : keys(v)) {
        const now = revive(v, `${k}`, f);
        if (now === undefined) delete v[k];
        else defineProperty(v, k, { value: now, writable: true, configurable: true, enumerable: true });
      }
    }
    return f.call(holder, key, v);
  };
  put(JSON, 'parse', { parse(s, reviver) {
    s = `${s}`;
    check(depthOf(s), maxDepth, 'a path into JSON');
    const v = parse(s);
    return typeof reviver === 'function' ? revive({ '': v }, '', reviver) : v;
  } }.parse);
  const write = (holder, key, o, indent, depth) => {
    check(depth, maxDepth, 'a path into JSON');
    let v = holder[key];
    if (v !== null && (typeof v === 'object' || typeof v === 'bigint') && typeof v.toJSON === 'function') v = v.toJSON(key);
    if (o.replace) v = o.replace.call(holder, key, v);
    if (v instanceof Number || v instanceof String || v instanceof Boolean) v = v.valueOf();
    if (typeof v !== 'object' || v === null) return stringify(v);
    const inner = indent + o.gap, parts = [];
    const each = isArray(v) ? (items(v.length), v.length) : 0;
    const colon = o.gap ? ': ' : ':';
    if (isArray(v)) {
      for (let i = 0; i < each; i++) parts.push(write(v, `${i}`, o, inner, depth + 1) ?? 'null');
    } else {
      for (const k of o.only ?? keys(v)) {
        const s = write(v, k, o, inner, depth + 1);
        if (s !== undefined) parts.push(stringify(k) + colon + s);
      }
    }
    let n = 2;
    for (const p of parts) n += p.length + inner.length + 2;
    text(n);
    const [open, close] = isArray(v) ? '[]' : '{}';
    if (parts.length === 0) return open + close;
    return o.gap ? `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}` : open + parts.join(',') + close;
  };
  put(JSON, 'stringify', { stringify(v, replacer, space) {
    if (space instanceof Number || space instanceof String) space = space.valueOf();
    const gap = typeof space === 'number' ? ' '.repeat(Math.max(0, Math.min(10, floor(space) || 0)))
      : typeof space === 'string' ? space.slice(0, 10) : '';
    return write({ '': v }, '', {
      gap,
      replace: typeof replacer === 'function' ? replacer : null,
      only: isArray(replacer) ? [...new Set(replacer.map(String))] : null,
    }, '', 0);
  } }.stringify);
})
