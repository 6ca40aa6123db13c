import { expect, test } from "bun:test";
import { join } from "node:path";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { loadModelFiles } from "../catalog/catalog.ts";
import { createRequestMemory } from "../core/bytes/request-memory.ts";
import { systemRandom } from "../core/random.ts";
import { createThinkingMemory } from "../gateway/language/thinking-memory.ts";
import { createLiveCalls } from "../gateway/live-calls.ts";
import type { EdgeServices } from "../http/route.ts";
import { openRehearsal } from "./rehearsal.ts";
import { requestsIn } from "./requests.ts";

const files = loadModelFiles(join(import.meta.dirname, "../../models"));

/** A rehearsal, and how often it would have let others have a turn. */
async function open(relay: object = {}) {
  const clock = createFakeClock();
  let breaths = 0;
  // Of the gateway's services a rehearsal only uses those that leave nothing.
  const edge = {
    memory: createRequestMemory(() => 1),
    publicUrl: () => "http://gateway",
    version: "1",
    relay: {
      kept: { isOn: () => true },
      thinking: createThinkingMemory(clock),
      live: createLiveCalls(),
      carrierSecret: "s".repeat(64),
      unknownUsage: { seen() {} },
      ...relay,
    },
  } as unknown as EdgeServices;
  const rehearse = await openRehearsal({ edge, files, clock, random: systemRandom }, async () => {
    breaths += 1;
  });
  return { rehearse, breaths: () => breaths, timers: () => clock.timers() };
}

test("a rehearsal is a paid call of each kind, which is answered, as often as it is run", async () => {
  const { rehearse, breaths, timers } = await open();
  await rehearse();
  const first = breaths();
  await rehearse();
  expect(first).toBeGreaterThan(100);
  // The answers of the first round are known in the second. Each of its twelve requests breathes five times: before the
  // provider answers, for each of three writes of the books, and at its end.
  expect(breaths() - first).toBe(12 * 5);
  expect(timers()).toBe(0);
});

test("a request that is not answered is told by its path and what was said", async () => {
  const { rehearse } = await open({ thinking: undefined });
  expect(await rehearse().catch(String)).toMatch(/^Error: \/api\/v1\/\S+ was answered with 500: /);
});

test("each format has a conversation and an agent's, plain and streamed", () => {
  const model = { id: "m/1" };
  for (const format of ["compat_chat_completions", "compat_messages", "compat_generate_content"] as const) {
    const requests = requestsIn(format, model).map(({ path, body }) => ({
      path,
      body: JSON.parse(new TextDecoder().decode(body)),
    }));
    const isStream = ({ path, body }: (typeof requests)[0]): boolean =>
      body.stream === true || path.endsWith(":streamGenerateContent?alt=sse");
    expect(requests.map((request) => [isStream(request), "tools" in request.body])).toEqual([
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ]);
    const inBody = requests.filter(({ body }) => "stream" in body);
    expect(inBody).toHaveLength(format === "compat_generate_content" ? 0 : 2);
  }
});
