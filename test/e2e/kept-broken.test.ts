import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import type { Answer } from "../upstream/answer.ts";
import { toBytes, toText } from "../upstream/bytes.ts";
import { eventEnds } from "../upstream/cuts.ts";
import type { UpstreamDouble } from "../upstream/double.ts";
import { finAt, gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { sseData } from "../upstream/sse-bytes.ts";
import { askKept, callKept, KEPT_MODELS, startKeptDouble, startKeptGateway } from "./kept-station.ts";

// Answers of Responses that nobody has whole are kept by nobody: those that broke, and those whose client left.

let double: UpstreamDouble;
let says: Awaited<ReturnType<typeof startKeptDouble>>["says"];
let gateway: TestGateway;

beforeAll(async () => {
  ({ double, says } = await startKeptDouble());
  gateway = await startKeptGateway(double);
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const words = (round: number) => ({ text: `Answer ${round}.` });
const ends = ({ body }: Answer): number[] => eventEnds(toBytes(body ?? ""));
const idIn = (text: string): string => /"id":"(resp_\w+)"/.exec(text)?.[1] ?? "";

async function expectNotKept(id: string): Promise<void> {
  expect(id).toStartWith("resp_");
  expect((await callKept(gateway, "GET", id)).status).toBe(404);
  const { error } = await askKept(gateway, { model: "test/gpt", previous_response_id: id });
  expect(error.code).toBe("previous_response_not_found");
}

describe.each(KEPT_MODELS)("%s", (model) => {
  const ask = (init: RequestInit = {}): Promise<Response> =>
    fetch(`${gateway.url}/api/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, input: "hi", stream: true }),
      ...init,
    });

  test("a stream that is cut behind any event before it is whole ends in both events of a failure, and is not kept", async () => {
    let most = 1;
    for (let at = 0; at < most; at += 1) {
      says(words, (answer) => {
        const whole = ends(answer);
        const text = toText(toBytes(answer.body ?? ""));
        // With its stop reason a message is whole, though its last event is missing (U32).
        const stopped = whole.findIndex((end) => text.slice(0, end).includes('"stop_reason":"'));
        most = stopped < 0 ? whole.length - 1 : stopped;
        return finAt(answer, whole[at] ?? 0);
      });
      const response = await ask();
      const text = await response.text();
      if (response.status !== 200) {
        expect(response.status).toBe(502);
        continue;
      }
      const told: Json[] = sseData(text).map((data) => JSON.parse(data));
      expect(told.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
      expect(
        told.filter(({ type }) => /^(error|response\.(failed|completed|incomplete))$/.test(type)),
      ).toHaveLength(2);
      expect(told.map(({ sequence_number: number }) => number)).toEqual(told.map((_, i) => i));
      await expectNotKept(idIn(text));
    }
    expect(most).toBeGreaterThan(4);
  });

  test("R30: of a client that leaves in mid-stream the provider is stopped, and nothing is kept", async () => {
    const gate = createGate();
    says(words, (answer) => gateAt(answer, ends(answer).at(-3) ?? 0, gate));
    const leaving = new AbortController();
    const response = await ask({ signal: leaving.signal });
    const reader = response.body!.getReader();
    let text = "";
    while (!text.includes("output_text.delta")) text += new TextDecoder().decode((await reader.read()).value);
    leaving.abort();
    await double.waitForClientGone(await double.waitForRequest(1));
    gate.release();
    await gateway.settled();
    says(words);
    await expectNotKept(idIn(text));
  });
});

test("an answer that is kept cannot be streamed again: that is said, and not left out", async () => {
  says(words);
  const { id } = await askKept(gateway, { model: "test/gpt" });
  const { status, json } = await callKept(gateway, "GET", `${id}?stream=true`);
  expect([status, json.error.param]).toEqual([400, "stream"]);
});
