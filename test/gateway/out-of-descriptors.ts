import { closeSync, openSync } from "node:fs";
import {
  createReserve,
  descriptorCount,
  descriptorLimit,
  ensureDescriptors,
  onShortage,
  withDescriptor,
} from "../../src/runtime/descriptors.ts";
import { fetchOnce, warmHttpClient } from "../../src/runtime/fetch.ts";
import { openThread } from "../../src/runtime/worker.ts";

// A process of its own that runs out of descriptors, and prints what it saw as JSON. Without a descriptor for a thread the
// runtime would end it.

const found: Record<string, unknown> = {};
const limit = descriptorLimit() ?? 0;
const count = descriptorCount(limit);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "no error");
const tried = async (run: () => unknown): Promise<string> => {
  try {
    return String(await run());
  } catch (error) {
    return messageOf(error);
  }
};

const some = createReserve(10);
const before = count();
some.hold();
found.counted = count() - before;
some.release();
found.countedAfter = count() - before;

await warmHttpClient();
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 200,
  fetch: () => new Response("hi"),
});
const ask = async (url: string): Promise<string> => {
  const answer = await fetchOnce(url, { method: "GET", headers: {}, signal: AbortSignal.timeout(5_000) });
  return answer.text();
};
const url = `http://127.0.0.1:${server.port}/`;

const kept = createReserve(limit);
let relieved = 0;
const relieving = (): boolean => {
  relieved += 1;
  kept.release();
  return true;
};
const thread = (): string => {
  openThread(new URL("data:text/javascript,"), null, { onMessage() {}, onClose() {} }).stop();
  return "started";
};

onShortage(() => false);
kept.hold();
found.full = count() === limit;
found.callWithoutReserve = await tried(() => ask(url));
found.threadWithoutReserve = await tried(thread);

onShortage(relieving);
found.callWithReserve = await tried(() => ask(url));
kept.hold();
found.threadWithReserve = await tried(thread);
found.relieved = relieved;

// There is a descriptor: the call was refused by whoever was to be reached, and is not repeated.
let tries = 0;
const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
const refusing = async (): Promise<never> => {
  tries += 1;
  throw refused;
};
const last = openSync("/dev/null", "r");
kept.hold();
closeSync(last);
found.refusal = await tried(() => withDescriptor(refusing));
kept.release();
found.ensured = await tried(() => ensureDescriptors(8));
kept.hold();
found.brokenOff = await tried(() =>
  withDescriptor(() => {
    tries += 1;
    return Promise.reject(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
  }),
);
found.tries = tries;
kept.release();
process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0));
