import { describeError } from "../../src/core/log/log.ts";
import { openKeptClient } from "./kept-client.ts";
import type { OpenLoopPlan, OpenLoopResult } from "./open-loop.ts";

const { url, request, perSecond, ms } = JSON.parse(process.argv[2] ?? "") as OpenLoopPlan;
const client = openKeptClient(url, request);
const refusals: number[] = [];
const wrong: string[] = [];
let [asked, served, under] = [0, 0, 0];

async function ask(): Promise<void> {
  const askedAt = performance.now();
  under += 1;
  try {
    const { status, header } = await client.send();
    if (status === 200) served += 1;
    else if (status === 503 && /^([1-9]|[1-5]\d|60)$/.test(header("retry-after") ?? ""))
      refusals.push(performance.now() - askedAt);
    else wrong.push(`${status}`);
  } catch (error) {
    wrong.push(describeError(error));
  }
  under -= 1;
}

const startedAt = performance.now();
for (; performance.now() - startedAt < ms; await Bun.sleep(5))
  for (; asked < ((performance.now() - startedAt) / 1_000) * perSecond; asked += 1) void ask();
while (under > 0) await Bun.sleep(5);
const seconds = (performance.now() - startedAt) / 1_000;
client.close();
const result: OpenLoopResult = { asked, served, seconds, refusals, wrong };
process.stdout.write(JSON.stringify(result));
