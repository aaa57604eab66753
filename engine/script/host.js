// The globals surrealdb and console over the natives of the host (host.go).
(function (query, value, eachFunction, log) {
  'use strict';
  class Query {
    constructor(text, vars) {
      this.text = String(text);
      this.vars = { ...vars };
    }

    bind(name, value) {
      this.vars[name] = value;
      return this;
    }
  }
  let functions;
  const byPath = () => {
    const root = {};
    const own = (o, name, value) => Object.defineProperty(o, name, { value, writable: true, configurable: true, enumerable: true });
    eachFunction((path, f) => {
      const names = path.split('::');
      const last = names.pop();
      let at = root;
      for (const name of names) {
        if (!Object.hasOwn(at, name)) own(at, name, {});
        at = at[name];
      }
      if (Object.hasOwn(at, last)) for (const name of Object.keys(at[last])) own(f, name, at[last][name]);
      own(at, last, f);
    });
    return root;
  };
  const surrealdb = {
    Query,
    query: (q, vars) => q instanceof Query ? query(q.text, { ...q.vars, ...vars }) : query(String(q), { ...vars }),
    value: (text) => value(String(text)),
    get functions() { return functions ??= byPath(); },
  };
  const shown = (x) => {
    if (typeof x === 'string') return x;
    try {
      return x instanceof Error ? String(x) : JSON.stringify(x) ?? String(x);
    } catch {
      return String(x);
    }
  };
  const console = {};
  for (const level of ['debug', 'error', 'info', 'log', 'trace', 'warn']) {
    console[level] = (...parts) => log(level, parts.map(shown).join(' '));
  }
  return { surrealdb, console };
})
