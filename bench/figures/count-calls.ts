import { startGateway } from "../../test/gateway/gateway.ts";
import { BENCHMARK_ANSWERS } from "../../test/upstream/benchmark-answers.ts";
import { FORMATS } from "../formats.ts";
import { median } from "../percentile.ts";
import { type Counted, KINDS } from "./count-names.ts";

// Runs in a copy of the source that has counters. Prints as JSON what one request of each kind comes to. The requests
// are chat completions relayed in the process to an upstream of its own, plain and streamed.

const WARM_REQUESTS = 200;
const COUNTED_REQUESTS = 21;
/** Until the work that a request leaves behind its answer is done. */
const REST_MS = 30;
const CHUNKS = 10;

const counts = [0, 0, 0, 0];
const sites = new Set<number>();
let isCounting = false;

Object.assign(globalThis, {
  __count(kind: number, site: number): void {
    if (!isCounting) return;
    counts[kind] = (counts[kind] ?? 0) + 1;
    if (kind === KINDS.call || kind === KINDS.async) sites.add(site);
  },
});

async function countOne(ask: () => Promise<Response>): Promise<Omit<Counted, "name">> {
  counts.fill(0);
  sites.clear();
  isCounting = true;
  const answer = await ask();
  const text = await answer.text();
  await Bun.sleep(REST_MS);
  isCounting = false;
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
  const [calls = 0, asyncs = 0, awaits = 0, promises = 0] = counts;
  return { calls: calls + asyncs, functions: sites.size, asyncs, awaits, promises };
}

const words = Array.from({ length: CHUNKS }, () => " wind");
const { chat } = BENCHMARK_ANSWERS;
const upstream = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const isStream = (await request.text()).includes('"stream":true');
    const { body, headers } = isStream ? chat.stream(words) : chat.plain(words.join(""));
    return new Response(body, {
      headers: (headers ?? []).map(([name, value]) => [name, value] as [string, string]),
    });
  },
});
const gateway = await startGateway({ openai: `http://127.0.0.1:${upstream.port}/v1` });
const results: Counted[] = [];
for (const stream of [false, true]) {
  const { modelId, clientPath, conversation } = FORMATS.chat;
  const body = conversation(modelId, stream);
  const ask = (): Promise<Response> => gateway.post(clientPath(modelId, stream), body);
  for (let i = 0; i < WARM_REQUESTS; i++) await (await ask()).text();
  const runs: Omit<Counted, "name">[] = [];
  for (let i = 0; i < COUNTED_REQUESTS; i++) runs.push(await countOne(ask));
  const middle = (figure: keyof Omit<Counted, "name">): number => median(runs.map((run) => run[figure]));
  results.push({
    name: stream ? `chat completions, a stream of ${CHUNKS} chunks` : "chat completions, plain",
    calls: middle("calls"),
    functions: middle("functions"),
    asyncs: middle("asyncs"),
    awaits: middle("awaits"),
    promises: middle("promises"),
  });
}
await gateway.close();
await upstream.stop(true);
console.log(JSON.stringify(results));
