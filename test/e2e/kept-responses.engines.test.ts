import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { type Json, type TestGateway } from "../gateway/gateway.ts";
import { type UpstreamDouble } from "../upstream/double.ts";
import { askKept, callKept, KEPT_MODELS, startKeptDouble, startKeptGateway } from "./kept-station.ts";

// Answers of Responses that later requests of their account name: of a provider that speaks Responses, and translated.

describeOnEngineOfSuite("answers that are kept,", (engine) => {
  let place: TestPlace;
  let double: UpstreamDouble;
  let gateway: TestGateway;
  let says: Awaited<ReturnType<typeof startKeptDouble>>["says"];

  beforeAll(async () => {
    ({ double, says } = await startKeptDouble());
    place = await engine.newPlace();
    gateway = await startKeptGateway(double, { environment: place.environment });
  });
  afterAll(async () => {
    await gateway.close();
    await double.close();
    await place.remove();
  });
  beforeEach(() => says((round) => ({ text: `Answer ${round}.` })));

  const sent = (): Json => double.requests.at(-1)?.json();
  /** Texts of the conversation that the provider was sent last, whatever its format. */
  const told = (): string[] =>
    [...JSON.stringify(sent().input ?? sent().messages).matchAll(/"(One|Two|Three|Answer \d)\.?"/g)].map(
      ([, text]) => text ?? "",
    );

  describe.each(KEPT_MODELS)("of %s,", (model) => {
    for (const stream of [false, true])
      test(`lead the conversation that goes on from them${stream ? ", streamed" : ""}`, async () => {
        const first = await askKept(gateway, { model, stream, input: "One", instructions: "Be short." });
        const second = await askKept(gateway, {
          model,
          stream,
          input: "Two",
          previous_response_id: first.id,
        });
        const third = await askKept(gateway, {
          model,
          stream,
          previous_response_id: second.id,
          input: [{ role: "user", content: "Three" }],
        });
        expect(told()).toEqual(["One", "Answer 1", "Two", "Answer 2", "Three"]);
        expect(JSON.stringify(sent())).not.toContain("Be short.");
        expect(sent()).not.toHaveProperty("previous_response_id");
        expect([third.previous_response_id, third.store]).toEqual([second.id, true]);
      });
  });

  test("are read, and deleted at once", async () => {
    const answer = await askKept(gateway, { model: "test/gpt", input: "One", metadata: { a: "b" } });
    expect(await callKept(gateway, "GET", answer.id)).toEqual({ status: 200, json: answer });
    expect(await callKept(gateway, "DELETE", answer.id)).toEqual({
      status: 200,
      json: { id: answer.id, object: "response", deleted: true },
    });
    expect((await callKept(gateway, "GET", answer.id)).status).toBe(404);
  });
});
