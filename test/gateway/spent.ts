import type { TestGateway } from "./gateway.ts";

/** The credits that `run` takes off the account, once everything has settled. */
export async function spentBy(
  gateway: Pick<TestGateway, "account" | "settled">,
  run: () => Promise<unknown>,
): Promise<number> {
  const { balance } = await gateway.account();
  await run();
  await gateway.settled();
  return Math.round((balance - (await gateway.account()).balance) * 1e6) / 1e6;
}

/** An answer as its client has it, and what it cost. */
export interface Charged {
  readonly status: number;
  readonly text: string;
  readonly credits: number;
}

/** The answer to one request, and what it takes off the account. */
export async function chargedFor(
  gateway: Pick<TestGateway, "account" | "settled">,
  ask: () => Promise<Response>,
): Promise<Charged> {
  let answer = { status: 0, text: "" };
  const credits = await spentBy(gateway, async () => {
    const response = await ask();
    answer = { status: response.status, text: await response.text() };
  });
  return { ...answer, credits };
}
