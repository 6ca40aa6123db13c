import { expect, test } from "bun:test";
import { sseAnswer } from "../upstream/answer.ts";
import { chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { greeted, keyOf, request, useGatewayProcesses } from "../gateway/processes.ts";

// What a kill of the whole process leaves to the next start.

const { start } = useGatewayProcesses();

test("kill -9 in mid-stream: the next start has the folder, nothing held, and the whole balance", async () => {
  const double = await startUpstreamDouble();
  const environment = {
    OPENAI_API_KEY: "sk-up",
    OPENAI_BASE_URL: `${double.url}/v1`,
    SWITCHYARD_ADMIN_TOKEN: "adm-0123456789abcdef",
  };
  const gateway = start(environment);
  const url = await greeted(gateway);
  const events = chatStream({ words: ["one ", "two"] });
  double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 2), createGate()));
  const accounts = async (at: string): Promise<{ balance: number; held: number }> => {
    const answer = await fetch(`${at}/admin/v1/accounts`, {
      headers: { authorization: "Bearer adm-0123456789abcdef" },
    });
    return ((await answer.json()) as { data: { balance: number; held: number }[] }).data[0]!;
  };
  const response = await fetch(`${url}/api/v1/chat/completions`, request(keyOf(gateway)));
  expect(response.status).toBe(200);
  expect((await accounts(url)).held).toBeGreaterThan(0);
  gateway.child.kill("SIGKILL");
  await gateway.exited();
  await response.text().catch(() => "cut");
  const next = start(environment);
  expect(await accounts(await next.ready())).toMatchObject({ balance: 100_000, held: 0 });
  await double.close();
});

for (const point of [
  "hold.after_commit",
  "upstream.after_headers",
  "settle.before_submit",
  "settle.after_commit",
]) {
  test(`killed at ${point}: the books are right after the next start`, async () => {
    const double = await startUpstreamDouble();
    const environment = {
      OPENAI_API_KEY: "sk-up",
      OPENAI_BASE_URL: `${double.url}/v1`,
      SWITCHYARD_ADMIN_TOKEN: "adm-0123456789abcdef",
    };
    const gateway = start({ ...environment, SWITCHYARD_FAILPOINT: `${point}:kill` });
    const url = await greeted(gateway);
    double.handle(() =>
      sseAnswer(
        chatStream({ words: ["one"], usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } }),
      ),
    );
    await fetch(`${url}/api/v1/chat/completions`, request(keyOf(gateway)))
      .then((response) => response.text())
      .catch(() => "cut");
    await gateway.exited();
    const next = start(environment);
    const answer = await fetch(`${await next.ready()}/admin/v1/accounts`, {
      headers: { authorization: "Bearer adm-0123456789abcdef" },
    });
    const [account] = ((await answer.json()) as { data: { balance: number; held: number }[] }).data;
    expect(account).toMatchObject({
      balance: point === "settle.after_commit" ? 99_999.93 : 100_000,
      held: 0,
    });
    await double.close();
  });
}
