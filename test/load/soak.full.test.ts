import { expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway } from "../gateway/gateway.ts";
import { LONG, SEED } from "../runs.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { seededRandom } from "../upstream/cuts.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { resetAt } from "../upstream/faults.ts";
import { openLoad } from "./load-gateway.ts";
import { askLanguage, askMedia, askReads, type SoakClient, type SoakTally } from "./soak-client.ts";
import { mib } from "./table.ts";

// Everything at once for a while, with a tenth of the clients leaving and a fiftieth of the calls failing. An hour:
// SWITCHYARD_TEST_SOAK_MINUTES=60 npm test -- test/load/soak.full.test.ts

const MINUTES = Number(process.env.SWITCHYARD_TEST_SOAK_MINUTES ?? (LONG ? "10" : "0.5"));
const SOAK_MS = MINUTES * 60_000;

/** Memory that no length of it takes: an hour was seen to take 271 MiB, ten minutes 308. */
const MOST_BYTES = 512 * 2 ** 20;
const LANGUAGE = 16;
const MEDIA = 2;
// An hour takes one and a half million.
const CREDITS = 100_000_000;

/** What was seen of the process at a moment. */
interface Sample {
  readonly minutes: number;
  readonly rss: number;
  readonly descriptors: number;
}

test(
  `a soak of ${MINUTES} minutes leaves clean books, no hold and no descriptor, and charges what clients were told`,
  async () => {
    const gateway = await openLoad({
      environment: { SWITCHYARD_SANDBOX: "on" },
      // The provider breaks on purpose: calls go on whatever became of those before.
      settings: { routing: { breaker_failures: 0 } },
    });
    const { admin, rss, descriptors } = gateway;
    const openAccount = async (name: string): Promise<{ id: string; key: string }> => {
      const { id } = await admin("POST", "/accounts", { name });
      await admin("POST", `/accounts/${id}/credits`, { amount: CREDITS, reason: name });
      return { id, key: (await admin("POST", "/keys", { account_id: id, name })).key };
    };
    const [staying, leaving] = [await openAccount("staying"), await openAccount("leaving")];
    const tally: SoakTally = { asked: {}, left: 0, broken: 0, credit: 0, wrong: [] };
    const seeded = seededRandom(SEED);
    const client: SoakClient = { gateway, tally, stays: staying.key, leaves: leaving.key, random: seeded };

    const samples: Sample[] = [];
    const startedAt = performance.now();
    const minutes = (): number => (performance.now() - startedAt) / 60_000;
    const isOver = (): boolean => performance.now() - startedAt > SOAK_MS;
    const look = (): void =>
      void samples.push({ minutes: minutes(), rss: rss(), descriptors: descriptors() });
    const looking = setInterval(look, Math.max(250, SOAK_MS / 600));
    const again = async (ask: (client: SoakClient) => Promise<void>, pauseMs: number): Promise<void> => {
      for (; !isOver(); await Bun.sleep(seeded() * pauseMs)) await ask(client);
    };
    await Promise.all([
      ...Array.from({ length: LANGUAGE }, () => again(askLanguage, 100)),
      ...Array.from({ length: MEDIA }, () => again(askMedia, 500)),
      again(askReads, 500),
    ]);
    clearInterval(looking);
    await allEnded(gateway.admin, [staying.id, leaving.id]);
    console.log(tableOf(samples, tally));

    expect(tally.wrong.slice(0, 5)).toEqual([]);
    expect(Math.max(...samples.map((sample) => sample.rss))).toBeLessThan(MOST_BYTES);
    const { balance } = await admin("GET", `/accounts/${staying.id}`);
    expect(CREDITS - balance).toBeCloseTo(tally.credit, 4);
    expect(await gateway.audit()).toMatchObject({ ok: true });
    expect((await gateway.provider.counts()).now).toBe(0);
    // Connections to the provider that are kept stay for five minutes: as many as there were at once.
    const before = samples[0]?.descriptors ?? 0;
    while (descriptors() > before + LANGUAGE + 16) await Bun.sleep(100);
    await gateway.close();
  },
  SOAK_MS + 300_000,
);

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

/** Slopes are those of the second half, by least squares. */
function tableOf(samples: readonly Sample[], tally: SoakTally): string {
  const half = samples.slice(Math.floor(samples.length / 2));
  const row = (name: string, of: (sample: Sample) => number, shown: (value: number) => string): string => {
    const all = samples.map(of);
    const most = Math.max(...all);
    const slope = slopeOf(half.map((sample) => [sample.minutes, of(sample)]));
    const sign = slope < 0 ? "-" : "+";
    return `| ${name} | ${shown(all[0] ?? 0)} | ${shown(most)} | ${shown(all.at(-1) ?? 0)} | ${sign}${shown(Math.abs(slope))} |`;
  };
  return [
    `soak of ${MINUTES} minutes, seed ${SEED}: ${JSON.stringify(tally.asked)}, ${tally.left} left, ${tally.broken} broke`,
    "| | at first | most | at last | a minute, of the second half |",
    "|---|---|---|---|---|",
    row("memory", ({ rss }) => rss, mib),
    row(
      "descriptors",
      ({ descriptors }) => descriptors,
      (value) => value.toFixed(1),
    ),
  ].join("\n");
}

function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([at]) => at), mean(([, value]) => value)];
  const over = mean(([at, value]) => (at - x) * (value - y));
  return over / mean(([at]) => (at - x) ** 2);
}
