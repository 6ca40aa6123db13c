import { afterEach, beforeEach, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

const FORM = { words: ["Hi."], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
const ANSWERS = { plain: chatAnswer(FORM), streamed: chatStreamAnswer(FORM) };

const settings = (first: UpstreamDouble, second: UpstreamDouble): string => `
providers:
  first:
    base_url: "${first.url}/v1"
    models:
      - { id: t/model, upstream_id: one, max_output: 100, prices: { input: 1, output: 2 } }
      - { id: t/bare, upstream_id: bare, max_output: 100, prices: { input: 1, output: 2 } }
  second:
    base_url: "${second.url}/v1"
    models:
      - { id: t/other, upstream_id: other, max_output: 100, prices: { input: 4, output: 8 } }
routing:
  models:
    t/model:
      routes:
        - { provider: first, cost: { input: 0.5, output: 1 } }
        - { provider: second, upstream_id: two, cost: { input: 2, output: 3 } }
    t/other: { routes: [{ provider: second, cost: { input: 3, output: 5 } }] }
    t/bare: { fallback: [t/other] }
`;

describeOnEngineOfSuite("the row of a request", (engine) => {
  let place: TestPlace;
  let [first, second]: UpstreamDouble[] = [];
  let gateway: TestGateway;
  beforeEach(async () => {
    place = await engine.newPlace();
    first = await startUpstreamDouble();
    second = await startUpstreamDouble();
    gateway = await startGateway({ settings: settings(first, second), environment: place.environment });
  });
  afterEach(async () => {
    await gateway.close();
    for (const double of [first, second]) await double?.close();
    await place.remove();
  });

  const ask = async (model: string, stream: boolean): Promise<Json> => {
    const messages = [{ role: "user", content: "Hi" }];
    const response = await gateway.chat({ model, messages, max_tokens: 20, stream });
    expect(response.status).toBe(200);
    await response.text();
    await gateway.settled();
    const { model: by, provider, credit, cost, price_version } = (await rows(1))[0];
    return { by, provider, credit, cost, price_version };
  };
  const rows = async (limit: number): Promise<Json> =>
    (await gateway.admin("GET", `/requests?limit=${limit}`)).json.data;
  const audited = async (): Promise<boolean> => (await gateway.admin("GET", "/audit?full=true")).json.ok;

  for (const [form, answer] of Object.entries(ANSWERS)) {
    const stream = form === "streamed";

    test(`has what the route that served costs the operator, and the charge is the model's by either (${form})`, async () => {
      first?.handle(() => answer);
      second?.handle(() => answer);
      const served = await ask("t/model", stream);
      expect(served).toMatchObject({ by: "t/model", provider: "first", credit: 0.2, cost: 0.1 });
      first?.handle(() => jsonAnswer(404, {}));
      const { price_version } = served;
      expect(await ask("t/model", stream)).toEqual({
        by: "t/model",
        provider: "second",
        credit: 0.2,
        cost: 0.35,
        price_version,
      });
      expect(await audited()).toBe(true);
    });

    test(`has the model that served in another's place, with its prices and the cost of its route (${form})`, async () => {
      first?.handle(() => answer);
      second?.handle(() => answer);
      // Its own route has no cost.
      const own = await ask("t/bare", stream);
      expect(own).toMatchObject({ by: "t/bare", provider: "first", credit: 0.2, cost: null });
      first?.handle(() => jsonAnswer(404, {}));
      const other = await ask("t/bare", stream);
      expect(other).toMatchObject({ by: "t/other", provider: "second", credit: 0.8, cost: 0.55 });
      expect(other.price_version).not.toBe(own.price_version);
      expect(await ask("t/other", stream)).toEqual(other);
      expect(await audited()).toBe(true);
    });
  }

  test("that was refused by every route has no cost and no charge", async () => {
    for (const double of [first, second])
      double?.handle(() => jsonAnswer(400, { error: { message: "No." } }));
    const response = await gateway.chat({ model: "t/model", messages: [{ role: "user", content: "Hi" }] });
    expect(response.status).toBe(400);
    await gateway.settled();
    expect((await rows(1))[0]).toMatchObject({ model: "t/model", credit: 0, cost: null });
    expect(await audited()).toBe(true);
  });
});
