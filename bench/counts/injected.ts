// Loaded before the gateway in a process whose work is counted, and in each of its threads. It wraps what the process
// works with, and counts its work in a file that all threads and the counting process map.
import { heapStats } from "bun:jsc";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { type Counter, COUNTERS } from "./names.ts";
import { withLoopCounters } from "./loop-counters.ts";

const counters = new Float64Array(Bun.mmap(join(process.env.SWITCHYARD_HOME ?? "", "../counters")).buffer);

function add(name: Counter, amount: number): void {
  const place = COUNTERS.indexOf(name);
  counters[place] = (counters[place] ?? 0) + amount;
}

type Method = (this: unknown, ...parameters: unknown[]) => unknown;

/** Replaces a method by one that has its calls counted, by their parameters, their results and what they are called on. */
function count(
  owner: object,
  method: string,
  counted: (parameters: unknown[], result: unknown, of: unknown) => void,
): void {
  const holder = owner as Record<string, Method>;
  const original = holder[method];
  if (original === undefined) throw new Error(`there is no ${method} to be counted`);
  holder[method] = function (...parameters) {
    const result = original.apply(this, parameters);
    counted(parameters, result, this);
    return result;
  };
}

// SQLite: a statement has its methods itself, and not from its prototype.
const wrapped = new WeakSet<object>();
for (const way of ["query", "prepare"]) {
  count(Database.prototype, way, (_, statement) => {
    if (wrapped.has(statement as object)) return;
    wrapped.add(statement as object);
    for (const method of ["run", "get", "all"])
      count(statement as object, method, () => add("statements", 1));
  });
}
count(Database.prototype, "run", () => add("statements", 1));

// Texts: small ones are no part of a body that is worth counting.
const LEAST_BODY = 256;
const lengthOf = (text: unknown): number =>
  typeof text === "string" || text instanceof Uint8Array ? text.length : 0;
const addRead = (text: unknown): void => {
  if (lengthOf(text) >= LEAST_BODY) add("read", lengthOf(text));
};
count(JSON, "parse", ([text]) => addRead(text));
count(JSON, "stringify", (_, text) => addRead(text));
count(TextDecoder.prototype, "decode", (_, text) => addRead(text));
count(TextEncoder.prototype, "encode", (_, bytes) => addRead(bytes));
count(Buffer.prototype, "toString", (_, text) => addRead(text));

// Searches: what they went over.
const addSearch = (within: unknown, from: unknown, found: unknown): void => {
  const length = lengthOf(within);
  if (length < LEAST_BODY) return;
  add("searched", (typeof found === "number" && found >= 0 ? found : length) - Number(from ?? 0));
};
for (const owner of [
  String.prototype,
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Buffer.prototype,
])
  count(owner, "indexOf", ([, from], found, within) => addSearch(within, from, found));
for (const method of ["exec", "test"])
  count(RegExp.prototype, method, ([text]) => addSearch(text, 0, undefined));

// Threads: what is posted to them and what comes back. Each loads this module, too.
count(Worker.prototype, "postMessage", () => add("messages", 1));
globalThis.Worker = new Proxy(Worker, {
  construct(Plain, [url, options]: [string | URL, WorkerOptions?]) {
    const worker = new Plain(url, { ...options, preload: [import.meta.path] });
    worker.addEventListener("message", () => add("messages", 1));
    return worker;
  },
});

// Our own loops.
Object.assign(globalThis, { __turn: () => add("turns", 1) });
Bun.plugin({
  name: "loops",
  setup(build) {
    build.onLoad({ filter: /\/src\/(core|protocols|gateway)\/.*(?<!\.test)\.ts$/ }, async ({ path }) => ({
      contents: withLoopCounters(path, await Bun.file(path).text()),
      loader: "ts",
    }));
  },
});

// Objects: a signal asks for those on the heap. These are all that the main thread has made, since the bench starts the
// process without its collector.
if (isMainThread)
  process.on("SIGUSR2", () => {
    const made = Object.values(heapStats().objectTypeCounts).reduce((sum, count) => sum + count, 0);
    counters[COUNTERS.indexOf("objects")] = made;
  });
