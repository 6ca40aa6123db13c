import { expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway } from "../gateway/gateway.ts";
import { LONG, SEED } from "../runs.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { resetAt } from "../upstream/faults.ts";
import { openLoad } from "./load-gateway.ts";
import { MOODY } from "./provider.ts";
import { askLanguage, askMedia, askModel, askReads, type SoakClient, type SoakTally } from "./soak-client.ts";
import { startOutages } from "./soak-outages.ts";
import { coursesOf, courseTable, startSampling } from "./soak-samples.ts";

// Everything at once for a while. A tenth of the clients leave, a fiftieth of the calls fail, and a provider goes away
// and comes back. An hour:
// SWITCHYARD_TEST_SOAK_MINUTES=60 npm test -- test/load/soak.full.test.ts

const MINUTES = Number(process.env.SWITCHYARD_TEST_SOAK_MINUTES ?? (LONG ? "10" : "0.5"));
const SOAK_MS = MINUTES * 60_000;

const LANGUAGE = 16;
const MEDIA = 2;
// An hour takes one and a half million.
const CREDITS = 100_000_000;

/**
 * What memory, descriptors and timers may rise by while it lasts, as a share of what they are. A long soak has as many
 * samples before and behind each collection of garbage. One of half a minute has not.
 */
const MOST_RISE = MINUTES >= 5 ? 0.1 : 0.5;

/** A provider is well for so long between two outages, and away for half of that. */
const WELL_MS = Math.min(20_000, SOAK_MS / 6);

test(
  `a soak of ${MINUTES} minutes takes no more memory, descriptors and timers at its end, leaves clean books and closed breakers, and charges what clients were told`,
  async () => {
    const gateway = await openLoad({ environment: { SWITCHYARD_SANDBOX: "on" }, countsTimers: true });
    const { admin, descriptors, timers } = gateway;
    const openAccount = async (name: string): Promise<{ id: string; key: string }> => {
      const { id } = await admin("POST", "/accounts", { name });
      await admin("POST", `/accounts/${id}/credits`, { amount: CREDITS, reason: name });
      return { id, key: (await admin("POST", "/keys", { account_id: id, name })).key };
    };
    const [staying, leaving] = [await openAccount("staying"), await openAccount("leaving")];
    const tally: SoakTally = { asked: {}, left: 0, broken: 0, outages: 0, credit: 0, wrong: [] };
    const random = seededRandom(SEED);
    const client: SoakClient = {
      gateway,
      tally,
      stays: staying.key,
      leaves: leaving.key,
      isBad: () => outages.isBad,
      random,
    };
    const outages = startOutages({
      gateway,
      wellMs: WELL_MS,
      badMs: WELL_MS / 2,
      ask: () => askModel(client, MOODY),
    });
    const atRest = timers();
    const sampling = startSampling(gateway, Math.max(250, SOAK_MS / 600));
    const startedAt = performance.now();
    const isOver = (): boolean => performance.now() - startedAt > SOAK_MS;
    const again = async (ask: (client: SoakClient) => Promise<void>, pauseMs: number): Promise<void> => {
      for (; !isOver(); await Bun.sleep(random() * pauseMs)) await ask(client);
    };
    await Promise.all([
      ...Array.from({ length: LANGUAGE }, () => again(askLanguage, 100)),
      ...Array.from({ length: MEDIA }, () => again(askMedia, 500)),
      again(askReads, 500),
    ]);
    const samples = sampling.stop();
    await outages.stop();
    await allEnded(gateway.admin, [staying.id, leaving.id]);
    const courses = coursesOf(samples, MOST_RISE);
    console.log(
      [
        `soak of ${MINUTES} minutes, seed ${SEED}: ${JSON.stringify(tally.asked)}, ${tally.left} left, ${tally.broken} broke, ${tally.outages} of them by ${outages.count} outages`,
        courseTable(samples, courses),
      ].join("\n"),
    );

    if (tally.wrong.length > 0)
      console.log(failedBefore(gateway.process.output(), "Every provider of this model"));
    expect(tally.wrong.slice(0, 5)).toEqual([]);
    expect(outages.count).toBeGreaterThan(0);
    const { data: routes } = await admin("GET", "/routes");
    expect(routes.filter(({ state }: Json) => state !== "healthy")).toEqual([]);
    expect(courses.filter(({ rise, most }) => rise > most)).toEqual([]);
    const { balance } = await admin("GET", `/accounts/${staying.id}`);
    expect(CREDITS - balance).toBeCloseTo(tally.credit, 4);
    expect(await gateway.audit()).toMatchObject({ ok: true });
    expect((await gateway.provider.counts()).now).toBe(0);
    // Connections to the provider that are kept stay for five minutes: as many as there were at once.
    const before = samples[0]?.descriptors ?? 0;
    while (descriptors() > before + LANGUAGE + 16) await Bun.sleep(100);
    // Each connection to the provider that is kept may have one.
    while (timers() > atRest + LANGUAGE + 16) await Bun.sleep(100);
    await gateway.close();
  },
  SOAK_MS + 300_000,
);

/** Of the access log the last failures before the first line that has `text`, and that line: what led to it. */
function failedBefore(output: string, text: string): string {
  const lines = output
    .slice(0, output.indexOf("\n", output.indexOf(text)))
    .split("\n")
    .slice(-2_000);
  return lines
    .filter((line) => /"status":5\d\d|upstream_error/.test(line))
    .slice(-40)
    .join("\n");
}

test("as many timers wait as before, once requests of all kinds of ends are over", async () => {
  const clock = createFakeClock();
  const double = await startUpstreamDouble();
  const gateway = await startGateway({ openai: `${double.url}/v1`, clock });
  const random = seededRandom(SEED);
  const body = {
    model: "openai/gpt-5.6-luna",
    max_tokens: 64,
    messages: [{ role: "user", content: "Hello." }],
  };
  const ask = async (): Promise<void> => {
    const controller = new AbortController();
    const stream = random() < 0.5;
    const answering = gateway.chat({ ...body, stream }, { signal: controller.signal });
    if (random() < 0.3) controller.abort();
    await answering.then((response) => response.text()).catch(() => undefined);
  };
  double.handle((request) => {
    const isStream = (request.json() as { stream?: boolean }).stream === true;
    const answer = isStream ? sseAnswer(chatStream({ words: ["Hello"] })) : chatAnswer();
    return random() < 0.2 ? resetAt(answer, random() < 0.5 ? "start" : "mid-head") : answer;
  });
  const settled = async (): Promise<number> => {
    await gateway.settled();
    // What waits a second for the provider's goodbye, or writes a moment later, comes to its end.
    for (let i = 0; i < 20; i += 1) await clock.advance(1_000);
    return clock.timers();
  };
  await ask();
  const before = await settled();
  // Clients and gateway share one process here, and the runtime asks for 256 answers at a time in each.
  const atOnce = 200;
  for (let rounds = LONG ? 10 : 1; rounds > 0; rounds -= 1)
    await Promise.all(Array.from({ length: atOnce }, ask));
  // Those that the gateway sets again and again may be on their way.
  expect(await settled()).toBeLessThan(before + atOnce / 20);
  await gateway.close();
  await double.close();
});

/** Resolves once nothing is held for either account: a task that nobody waits for ends by itself. */
async function allEnded(
  admin: (method: string, path: string) => Promise<{ held: number }>,
  accounts: readonly string[],
): Promise<void> {
  for (const id of accounts) while ((await admin("GET", `/accounts/${id}`)).held !== 0) await Bun.sleep(100);
}
