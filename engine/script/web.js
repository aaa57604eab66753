// fetch and its classes over two natives of the host (web.go): send makes a request, parse takes a URL apart.
(function (send, parse) {
  'use strict';
  const utf8 = (s) => {
    const out = [];
    for (const c of String(s)) {
      let n = c.codePointAt(0);
      if (n >= 0xd800 && n <= 0xdfff) n = 0xfffd;
      if (n < 0x80) out.push(n);
      else if (n < 0x800) out.push(0xc0 | n >> 6, 0x80 | n & 63);
      else if (n < 0x10000) out.push(0xe0 | n >> 12, 0x80 | n >> 6 & 63, 0x80 | n & 63);
      else out.push(0xf0 | n >> 18, 0x80 | n >> 12 & 63, 0x80 | n >> 6 & 63, 0x80 | n & 63);
    }
    return new Uint8Array(out);
  };
  const text = (bytes) => {
    const out = [];
    for (let i = 0; i < bytes.length;) {
      const b = bytes[i++];
      let more = b < 0x80 ? 0 : b >= 0xf0 && b < 0xf5 ? 3 : b >= 0xe0 && b < 0xf0 ? 2 : b >= 0xc2 && b < 0xe0 ? 1 : -1;
      let n = more < 0 ? 0xfffd : more === 0 ? b : b & (63 >> more);
      for (; more > 0; more--) {
        if ((bytes[i] & 0xc0) !== 0x80) { n = 0xfffd; break; }
        n = n << 6 | bytes[i++] & 63;
      }
      out.push(String.fromCodePoint(n > 0x10ffff || n >= 0xd800 && n <= 0xdfff ? 0xfffd : n));
    }
    return out.join('');
  };
  const pairsOf = (init) => {
    if (init === undefined || init === null) return [];
    if (typeof init[Symbol.iterator] === 'function') return [...init].map(([k, v]) => [String(k), String(v)]);
    return Object.entries(init).map(([k, v]) => [k, String(v)]);
  };

  class Pairs {
    constructor(pairs) { this._list = pairs; }
    _name(k) { return String(k); }
    append(k, v) { this._list.push([this._name(k), v]); }
    delete(k) { k = this._name(k); this._list = this._list.filter(([n]) => n !== k); }
    get(k) { k = this._name(k); const p = this._list.find(([n]) => n === k); return p ? p[1] : null; }
    getAll(k) { k = this._name(k); return this._list.filter(([n]) => n === k).map(([, v]) => v); }
    has(k) { k = this._name(k); return this._list.some(([n]) => n === k); }
    set(k, v) {
      k = this._name(k);
      const at = this._list.findIndex(([n]) => n === k);
      if (at < 0) { this._list.push([k, v]); return; }
      this._list[at][1] = v;
      this._list = this._list.filter(([n], i) => n !== k || i === at);
    }
    forEach(f) { for (const [k, v] of this) f(v, k, this); }
    *entries() { yield* this._list.map((p) => [...p]); }
    *keys() { for (const [k] of this) yield k; }
    *values() { for (const [, v] of this) yield v; }
    [Symbol.iterator]() { return this.entries(); }
  }
  class Headers extends Pairs {
    constructor(init) {
      super([]);
      for (const [k, v] of pairsOf(init)) this.append(k, v);
    }
    _name(k) { return String(k).toLowerCase(); }
    append(k, v) {
      const had = this.get(k);
      this.set(k, had === null ? v : `${had}, ${v}`);
    }
    set(k, v) { super.set(k, String(v)); }
    *entries() { yield* [...this._list].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0).map((p) => [...p]); }
  }
  const escape = (s) => encodeURIComponent(s).replace(/%20/g, '+');
  const unescape = (s) => decodeURIComponent(s.replace(/\+/g, ' '));
  class URLSearchParams extends Pairs {
    constructor(init) {
      if (typeof init !== 'string') { super(pairsOf(init)); return; }
      super(init.replace(/^\?/, '').split('&').filter((p) => p !== '').map((p) => {
        const at = p.indexOf('=');
        return at < 0 ? [unescape(p), ''] : [unescape(p.slice(0, at)), unescape(p.slice(at + 1))];
      }));
    }
    append(k, v) { super.append(k, String(v)); }
    set(k, v) { super.set(k, String(v)); }
    toString() { return this._list.map(([k, v]) => `${escape(k)}=${escape(v)}`).join('&'); }
  }
  class URL {
    constructor(url, base) {
      const parts = parse(String(url), base === undefined ? '' : String(base));
      if (parts === null || parts === undefined) throw new TypeError('Invalid URL');
      Object.assign(this, parts);
    }
    get searchParams() { return new URLSearchParams(this.search); }
    toString() { return this.href; }
    toJSON() { return this.href; }
  }
  class FormData extends Pairs {
    constructor() { super([]); }
  }
  const joined = (parts) => {
    const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of parts) { out.set(p, at); at += p.length; }
    return out;
  };
  const bytesOf = (x) => {
    if (x instanceof Uint8Array) return x;
    if (x instanceof ArrayBuffer) return new Uint8Array(x);
    if (x instanceof Blob) return x._bytes;
    if (ArrayBuffer.isView(x)) return new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
    return utf8(x);
  };
  class Blob {
    constructor(parts, options) {
      this._bytes = joined([...parts ?? []].map(bytesOf));
      this.type = String(options?.type ?? '').toLowerCase();
    }
    get size() { return this._bytes.length; }
    slice(from, to, type) { return new Blob([this._bytes.slice(from, to)], { type }); }
    async text() { return text(this._bytes); }
    async arrayBuffer() { return this._bytes.slice().buffer; }
  }
  const formBody = (form) => {
    const mark = 'nacre-form-boundary-7d1b3f5a9c';
    const parts = [];
    for (const [k, v] of form) {
      const blob = v instanceof Blob;
      const file = blob ? `; filename="blob"\r\nContent-Type: ${v.type || 'application/octet-stream'}` : '';
      parts.push(utf8(`--${mark}\r\nContent-Disposition: form-data; name="${k.replace(/["\r\n]/g, encodeURIComponent)}"${file}\r\n\r\n`),
        bytesOf(v), utf8('\r\n'));
    }
    return [joined([...parts, utf8(`--${mark}--\r\n`)]), `multipart/form-data; boundary=${mark}`];
  };
  const typedBody = (x) => {
    if (x === undefined || x === null) return [null, null];
    if (x instanceof FormData) return formBody(x);
    if (x instanceof URLSearchParams) return [utf8(x), 'application/x-www-form-urlencoded;charset=UTF-8'];
    if (x instanceof Blob) return [x._bytes, x.type || null];
    if (x instanceof ArrayBuffer || ArrayBuffer.isView(x)) return [bytesOf(x), null];
    return [utf8(x), 'text/plain;charset=UTF-8'];
  };
  class Body {
    constructor(body, headers) {
      const [bytes, type] = typedBody(body);
      this._body = bytes;
      this.headers = new Headers(headers);
      this.bodyUsed = false;
      if (type !== null && !this.headers.has('content-type')) this.headers.set('content-type', type);
    }
    _take() {
      if (this.bodyUsed) throw new TypeError('The body has been used already');
      this.bodyUsed = this._body !== null;
      return this._body ?? new Uint8Array(0);
    }
    async text() { return text(this._take()); }
    async json() { return JSON.parse(text(this._take())); }
    async arrayBuffer() { return this._take().slice().buffer; }
    async blob() { return new Blob([this._take()], { type: this.headers.get('content-type') ?? '' }); }
  }
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
  class Request extends Body {
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      const body = init.body ?? from?._body;
      super(body, init.headers ?? from?.headers);
      const method = String(init.method ?? from?.method ?? 'GET');
      this.method = methods.includes(method.toUpperCase()) ? method.toUpperCase() : method;
      if (body !== undefined && body !== null && (this.method === 'GET' || this.method === 'HEAD')) {
        throw new TypeError(`A request with the method ${this.method} has no body`);
      }
      this.url = from ? from.url : new URL(input).href;
      this.redirect = String(init.redirect ?? from?.redirect ?? 'follow');
    }
    clone() { return new Request(this); }
  }
  class Response extends Body {
    constructor(body, init = {}) {
      super(body, init.headers);
      this.status = Number(init.status ?? 200);
      if (!(this.status >= 200 && this.status <= 599)) throw new RangeError('The status is not between 200 and 599');
      this.statusText = String(init.statusText ?? '');
      this.url = '';
      this.redirected = false;
      this.type = 'default';
    }
    get ok() { return this.status >= 200 && this.status <= 299; }
    clone() {
      const copy = new Response(this._body, this);
      copy.url = this.url;
      return copy;
    }
    static json(x, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has('content-type')) headers.set('content-type', 'application/json');
      return new Response(JSON.stringify(x), { ...init, headers });
    }
  }
  const fetch = async (input, init) => {
    const request = new Request(input, init);
    const answer = await send({ method: request.method, url: request.url, headers: [...request.headers],
      body: request._body, manual: request.redirect !== 'follow' });
    if (request.redirect === 'error' && answer.status >= 300 && answer.status < 400) throw new TypeError('The answer is a redirect');
    const response = new Response(answer.body, { status: answer.status, statusText: answer.text, headers: answer.headers });
    response.url = answer.url;
    response.redirected = answer.url !== request.url;
    return response;
  };
  class TextEncoder { encode(s = '') { return utf8(s); } }
  class TextDecoder { decode(x) { return x === undefined ? '' : text(bytesOf(x)); } }
  return { fetch, Headers, Request, Response, Blob, FormData, URL, URLSearchParams, TextEncoder, TextDecoder };
})
