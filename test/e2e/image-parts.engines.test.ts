import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Database } from "../../src/db/schema.ts";
import { createFastClock } from "../gateway/fast-clock.ts";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { redirectTo, resetAt } from "../upstream/faults.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import type { Fault, MediaDouble } from "../upstream/media/media-double.ts";
import { startWavespeedDouble } from "../upstream/media/wavespeed-double.ts";
import { ended, journey, qwen, told } from "./media-vendors.ts";
import { checkAudit, checkBooks, openBooks } from "./money.ts";

// Images by one call each, of which some may have been made for nothing: what the books note as the operator's loss.

const instead = (answer: ReturnType<typeof jsonAnswer>): Fault => ({ instead: answer });
const refusal = (status: number): Fault => instead(jsonAnswer(status, { code: status, message: "no" }));
const redirect = instead(redirectTo("http://169.254.169.254/latest/meta-data", 307));
const reset: Fault = { after: (answer) => resetAt(answer, "start") };
const blocked = refusal(400);
const locked = refusal(403);

/** An image costs 350 credits. */
const ROWS: readonly (readonly [string, readonly Fault[], number])[] = [
  ["a redirect beside two refusals", [redirect, locked, locked], 350],
  ["two redirects beside a refusal", [redirect, locked, redirect], 700],
  ["redirects alone", [redirect, redirect, redirect], 1_050],
  ["a reset beside refusals of the request", [blocked, reset, blocked], 350],
  ["refusals of the request alone", [blocked, blocked, blocked], 0],
];

describeOnEngineOfSuite("three images by three calls", (engine) => {
  let place: TestPlace;
  let double: MediaDouble;
  let gateway: TestGateway;
  let books: Database;

  const start = (): Promise<TestGateway> =>
    startGateway({
      clock: createFastClock(20),
      environment: { ...place.environment, ...environmentOf("wavespeed", double, UPSTREAM_KEY) },
      settings: JSON.stringify({
        outbound: { allowed_hosts: [new URL(double.files.url).host] },
        tasks: { lease_seconds: 3600 },
        routing: {
          breaker_failures: 0,
          models: Object.fromEntries(
            [qwen, journey].map(({ model }) => [model, { routes: [{ provider: "wavespeed" }] }]),
          ),
        },
      }),
    });
  beforeAll(async () => {
    place = await engine.newPlace();
    double = await startWavespeedDouble(UPSTREAM_KEY);
    gateway = await start();
    books = openBooks(place);
  });
  afterAll(async () => {
    await books.destroy();
    await gateway.close();
    await double.close();
    await place.remove();
  });

  /** Losses in credits, oldest first, each with what its hold has as its expected cost. */
  async function losses(): Promise<readonly (readonly [lost: number, expected: number])[]> {
    const rows = await books
      .selectFrom("ledger")
      .innerJoin("holds", "holds.request_id", "ledger.request_id")
      .select(["ledger.amount", "holds.expected_cost"])
      .where("ledger.kind", "=", "loss")
      .orderBy("seq")
      .execute();
    return rows.map((row) => [-Number(row.amount) / 1e6, Number(row.expected_cost) / 1e6]);
  }

  for (const [what, faults, lost] of ROWS)
    test(`${what}: a loss of ${lost} credits, and none for the client`, async () => {
      double.reset();
      double.fault("images", ...faults);
      const before = await losses();
      const { balance } = await gateway.account();
      expect(told(await ended(gateway, { ...qwen, n: 3 }))).toStartWith("failed");
      expect(await gateway.account()).toMatchObject({ balance, held: 0 });
      const after = await losses();
      expect(after.slice(before.length)).toEqual(lost === 0 ? [] : [[lost, lost]]);
    });

  test("one call that may have begun four images: a loss of all four", async () => {
    double.reset();
    const made = await ended(gateway, journey);
    expect(made).toMatchObject({ status: "completed" });
    double.fault("images", redirect);
    const before = await losses();
    expect(told(await ended(gateway, journey))).toStartWith("failed");
    expect((await losses()).slice(before.length)).toEqual([[made.credit, made.credit]]);
  });

  test("the books are right, and stay so after a restart", async () => {
    const before = await losses();
    for (let times = 0; times < 2; times += 1) {
      await checkAudit(gateway);
      await checkBooks(books);
      if (times === 0) {
        await gateway.close();
        gateway = await start();
      }
    }
    expect(await losses()).toEqual(before);
  });
});
