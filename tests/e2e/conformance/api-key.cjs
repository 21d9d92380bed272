// Loaded before the conformance suite (node --require): adds an API key to each of its HTTP requests,
// because the suite has no option for headers. It sends them by node:http and by fetch, which share undici's dispatcher.
const http = require('node:http');
const https = require('node:https');

const NAME = 'X-API-Key';
const KEY = process.env.CONFORMANCE_KEY;

for (const module of [http, https]) {
  const request = module.request;
  module.request = (...args) => {
    const options = args.find((arg) => arg && typeof arg === 'object' && !(arg instanceof URL));
    if (options) options.headers = { ...options.headers, [NAME]: KEY };
    return request(...args);
  };
}

function withKey(headers) {
  if (Array.isArray(headers)) return [...headers, NAME, KEY];
  if (headers && Symbol.iterator in headers) return [...[...headers].flat(), NAME, KEY];
  return { ...headers, [NAME]: KEY };
}

fetch('data:,').catch(() => {}); // makes Node create the dispatcher
const dispatcher = globalThis[Symbol.for('undici.globalDispatcher.1')];
const dispatch = dispatcher.dispatch.bind(dispatcher);
dispatcher.dispatch = (options, handler) => dispatch({ ...options, headers: withKey(options.headers) }, handler);
