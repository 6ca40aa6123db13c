import { expect, test } from "bun:test";
import { repeatedChoices, seededChoices, shorten } from "./choices.ts";
import { type Run, simulate } from "./simulation.ts";
import { LONG, SEED } from "../runs.ts";

const RUNS = Number(process.env.SWITCHYARD_TEST_RUNS ?? (LONG ? 10_000 : 120));

/** Every seed is a run of its own, so that a failing one is the first run of SWITCHYARD_TEST_SEED=<it>. */
test(`${RUNS} simulated histories of gateways that die, freeze and come back: every credit is where it belongs`, async () => {
  const totals: Record<string, number> = {};
  const startedAt = performance.now();
  for (let seed = SEED; seed < SEED + RUNS; seed += 1) {
    const choices = seededChoices(seed);
    const run = await simulate(choices);
    for (const [name, count] of Object.entries(run.counts)) totals[name] = (totals[name] ?? 0) + count;
    if (run.failure !== undefined) await report(seed, choices.taken, run);
    expect(run.failure).toBeUndefined();
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const text = Object.entries(totals).map(([name, count]) => `${name} ${count}`);
  console.log(`simulation: seeds ${SEED}..${SEED + RUNS - 1} in ${seconds} s: ${text.join(", ")}`);
}, 1_800_000);

test("a run is repeated by its seed", async () => {
  const first = await simulate(seededChoices(SEED));
  expect(await simulate(seededChoices(SEED))).toEqual(first);
});

async function report(seed: number, taken: readonly number[], run: Run): Promise<void> {
  const kind = kindOf(run);
  const shortest = await shorten(
    taken,
    async (choices) => kindOf(await simulate(repeatedChoices(choices))) === kind,
  );
  const { failure, trace } = await simulate(repeatedChoices(shortest));
  console.error(
    `The simulation failed: run it again with SWITCHYARD_TEST_SEED=${seed}\n${run.failure}\n\n` +
      `The shortest run that fails alike: ${failure}\n${trace.slice(-150).join("\n")}`,
  );
}

/** What failed, without names and numbers. */
function kindOf({ failure }: Run): string | undefined {
  return failure?.replaceAll(/[\d_.]+/g, "").slice(0, 60);
}
