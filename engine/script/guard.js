// Replaces what would let a script leave the bounds of its runtime: code from text, and the built-in
// functions that do in one step (which nothing can stop) more than the limits allow. It calls nothing that the script could
// have changed by then, and so takes no array apart: that asks the array's iterator.
(function (maxText, maxItems, maxDepth, depthOf) {
  'use strict';
  const { defineProperty, getPrototypeOf, setPrototypeOf, keys } = Object;
  const { apply, construct } = Reflect;
  const { isArray } = Array;
  const { floor, max, min } = Math;
  const [num, str, unique, functions] = [Number, String, Set, getPrototypeOf(() => {})];

  const TooLong = RangeError;
  const check = (n, most, what) => {
    if (n > most) throw new TooLong(`${what} would be longer than ${most}`);
  };
  const text = (n) => check(n, maxText, 'a text');
  const items = (n) => check(n, maxItems, 'a list');
  const put = (o, name, value) => defineProperty(o, name, name === 'prototype' ? { value }
    : { value, writable: true, configurable: true, enumerable: false });
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

  // BigInts: one step makes none of more than maxBits, and reads none from a longer text (see bigint.go).
  const maxBits = 1048576;
  const Big = BigInt, bp = Big.prototype, hex = bp.toString;
  const bits = (n) => apply(hex, n, [16]).length * 4;
  const bounded = (n) => { if (n > maxBits) throw new TooLong(`a BigInt would have more than ${maxBits} bits`); };
  const big = (x) => typeof x === 'bigint';
  const plain = (x, hint) => {
    if (x === null || typeof x !== 'object' && typeof x !== 'function') return x;
    const f = x[Symbol.toPrimitive];
    if (f !== undefined && f !== null) return apply(f, x, [hint]);
    const v = x.valueOf();
    return v !== null && typeof v === 'object' ? x.toString() : v;
  };
  const both = (f, cost) => (a, b) => {
    a = plain(a, 'number'); b = plain(b, 'number');
    if (big(a) && big(b)) cost(a, b);
    return f(a, b);
  };
  const compared = (f) => (a, b) => {
    if (big(a) || big(b)) {
      a = plain(a, 'number'); b = plain(b, 'number');
      if (typeof a === 'string') bounded(a.length * 4);
      if (typeof b === 'string') bounded(b.length * 4);
    }
    return f(a, b);
  };
  const guards = {
    ' *': both((a, b) => a * b, (a, b) => bounded(bits(a) + bits(b))),
    ' **': both((a, b) => a ** b, (a, b) => { if (a > 1n || a < -1n) bounded(bits(a) * num(b)); }),
    ' <<': both((a, b) => a << b, (a, b) => { if (a !== 0n) bounded(bits(a) + num(b)); }),
    ' >>': both((a, b) => a >> b, (a, b) => { if (a !== 0n) bounded(bits(a) - num(b)); }),
    ' ==': compared((a, b) => a == b), ' !=': compared((a, b) => a != b), ' <': compared((a, b) => a < b),
    ' >': compared((a, b) => a > b), ' <=': compared((a, b) => a <= b), ' >=': compared((a, b) => a >= b),
    ' =': (op, o, k, v) => { const f = guards[op]; return o[k] = f(o[k], v); },
  };
  for (const name of keys(guards)) defineProperty(globalThis, name, { value: guards[name] });
  const made = { BigInt(v) {
    v = plain(v, 'number');
    if (typeof v === 'string') bounded(v.length * 4);
    return Big(v);
  } }.BigInt;
  for (const name of ['asIntN', 'asUintN']) {
    const f = Big[name];
    put(made, name, { method(n, x) { bounded(num(n)); return f(n, x); } }.method);
  }
  defineProperty(made, 'prototype', { value: bp });
  put(bp, 'constructor', made);
  put(globalThis, 'BigInt', made);

  // Text.
  const sp = String.prototype;
  wrap(sp, 'repeat', (s, args) => text(`${s}`.length * num(args[0])));
  for (const name of ['padStart', 'padEnd']) wrap(sp, name, (s, args) => text(num(args[0])));
  for (const name of ['replace', 'replaceAll']) {
    wrap(sp, name, (s, args) => {
      if (typeof args[1] === 'function') return;
      const n = `${s}`.length, by = args[1] = `${args[1]}`;
      const longest = by.includes('$') ? by.length + n * floor(by.length / 2) : by.length;
      text(n + (n + 1) * longest);
    });
  }
  wrap(sp, 'split', (s) => items(`${s}`.length));
  for (const name of ['match', 'replace', 'replaceAll']) {
    wrap(sp, name, (s, args) => {
      const p = args[0];
      if (p !== null && typeof p === 'object' && p.global) items(`${s}`.length);
    });
  }
  const pattern = (p) => { if (typeof p === 'string') text(p.length * 64); return p; };
  for (const name of ['match', 'matchAll', 'search']) wrap(sp, name, (s, args) => { pattern(args[0]); });

  // A template makes a text out of any number of others in one step.
  defineProperty(globalThis, ' `', { value: (texts, ...values) => {
    let n = 0;
    for (let i = 0; i < texts.length; i++) {
      n += texts[i].length;
      if (i < values.length) n += (values[i] = `${values[i]}`).length;
    }
    text(n);
    let out = texts[0];
    for (let i = 0; i < values.length; i++) out = out + values[i] + texts[i + 1];
    return out;
  } });

  wrap(sp, 'concat', (s, args) => {
    let n = `${s}`.length;
    for (let i = 0; i < args.length; i++) text(n += (args[i] = `${args[i]}`).length);
  });

  // What walks over a text without a step of the interpreter between: nothing could stop it.
  wrap(sp, Symbol.iterator, (s) => items(`${s}`.length));
  const matches = sp.matchAll;
  const stepped = function* (found, next) {
    for (let r = apply(next, found, []); !r.done; r = apply(next, found, [])) yield r.value;
  };
  put(sp, 'matchAll', { matchAll(p) {
    const found = apply(matches, this, [p]);
    return stepped(found, found.next);
  } }.matchAll);
  const each = RegExp.prototype[Symbol.matchAll];
  put(RegExp.prototype, Symbol.matchAll, { [Symbol.matchAll](s) {
    const found = apply(each, this, [s]);
    return stepped(found, found.next);
  } }[Symbol.matchAll]);

  // Lists. An array may be long and empty, which costs nothing until it is walked.
  const length = (a) => (a === null || a === undefined ? 0 : num(a.length) || 0);
  const ap = Array.prototype;
  for (const name of ['concat', 'copyWithin', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex',
    'flatMap', 'forEach', 'includes', 'indexOf', 'join', 'lastIndexOf', 'map', 'reduce', 'reduceRight', 'reverse', 'shift',
    'slice', 'some', 'sort', 'splice', 'toLocaleString', 'toReversed', 'toSorted', 'toSpliced', 'toString', 'unshift',
    'values', 'with']) {
    wrap(ap, name, (a, args) => {
      items(length(a));
      if (name === 'join') text(length(a) * (args[0] === undefined ? 1 : `${args[0]}`.length));
      if (name === 'concat') for (let i = 0; i < args.length; i++) if (isArray(args[i])) items(args[i].length);
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
        else out[out.length] = a[i];
      }
    };
    add(this, num(depth) || 0);
    return out;
  } }.flat);
  wrap(Array, 'from', (_, args) => items(length(args[0])));
  wrap(functions, 'apply', (_, args) => items(length(args[1])));
  wrap(Reflect, 'apply', (_, args) => items(length(args[2])));
  wrap(Reflect, 'construct', (_, args) => items(length(args[1])));

  // Buffers and patterns.
  const guarded = (name, before) => {
    const f = globalThis[name];
    if (f === undefined) return;
    const g = function (...args) {
      before(args);
      if (new.target === undefined) return apply(f, undefined, args);
      return construct(f, args, new.target === g ? f : new.target);
    };
    put(g, 'prototype', f.prototype);
    put(g, 'name', name);
    setPrototypeOf(g, f);
    put(f.prototype, 'constructor', g);
    put(globalThis, name, g);
  };
  const size = (args) => { const n = args[0]; if (typeof n === 'number') text(n); else if (typeof n === 'object') items(length(n)); };
  for (const name of ['ArrayBuffer', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
    'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) guarded(name, size);
  guarded('RegExp', (args) => { pattern(args[0]); });
  delete globalThis.Proxy;

  // JSON, whose own functions recurse where nothing bounds them.
  const { parse, stringify } = JSON;
  const revive = (holder, key, f) => {
    const v = holder[key];
    if (typeof v === 'object' && v !== null) {
      const names = keys(v);
      for (let i = 0; i < names.length; i++) {
        const k = names[i], now = revive(v, k, f);
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
    if (v instanceof num || v instanceof str || v instanceof Boolean) v = v.valueOf();
    if (typeof v !== 'object' || v === null) return stringify(v);
    const inner = indent + o.gap, parts = [];
    const each = isArray(v) ? (items(v.length), v.length) : 0;
    const colon = o.gap ? ': ' : ':';
    if (isArray(v)) {
      for (let i = 0; i < each; i++) parts[i] = write(v, `${i}`, o, inner, depth + 1) ?? 'null';
    } else {
      const names = o.only ?? keys(v);
      for (let i = 0; i < names.length; i++) {
        const k = names[i], s = write(v, k, o, inner, depth + 1);
        if (s !== undefined) parts[parts.length] = stringify(k) + colon + s;
      }
    }
    let n = 2;
    for (let i = 0; i < parts.length; i++) n += parts[i].length + inner.length + 2;
    text(n);
    const open = isArray(v) ? '[' : '{', close = isArray(v) ? ']' : '}';
    if (parts.length === 0) return open + close;
    return o.gap ? `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}` : open + parts.join(',') + close;
  };
  put(JSON, 'stringify', { stringify(v, replacer, space) {
    if (space instanceof num || space instanceof str) space = space.valueOf();
    const gap = typeof space === 'number' ? ' '.repeat(max(0, min(10, floor(space) || 0)))
      : typeof space === 'string' ? space.slice(0, 10) : '';
    return write({ '': v }, '', {
      gap,
      replace: typeof replacer === 'function' ? replacer : null,
      only: isArray(replacer) ? [...new unique(replacer.map(str))] : null,
    }, '', 0);
  } }.stringify);
})
