import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { type Json, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { type UpstreamDouble } from "../upstream/double.ts";
import {
  askKept,
  bytesOfStore,
  callKept,
  createShiftedClock,
  KEPT_MODELS,
  startKeptDouble,
  startKeptGateway,
  streamOf,
} from "./kept-station.ts";

// Answers of Responses that later requests of their account name: of a provider that speaks Responses, and translated.

describeOnEngineOfSuite("answers that are kept,", (engine) => {
  let place: TestPlace;
  let double: UpstreamDouble;
  let gateway: TestGateway;
  const clock = createShiftedClock();
  let says: Awaited<ReturnType<typeof startKeptDouble>>["says"];

  beforeAll(async () => {
    ({ double, says } = await startKeptDouble());
    place = await engine.newPlace();
    gateway = await startKeptGateway(double, { environment: place.environment, clock });
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

  const refusalOf = async (body: Json, asker = gateway): Promise<readonly [status: number, error: Json]> => {
    const response = await asker.post("/api/v1/responses", { model: "test/gpt", input: "x", ...body });
    return [response.status, ((await response.json()) as Json).error];
  };
  const notFound = { code: "previous_response_not_found", param: "previous_response_id" };
  /** That neither the answer nor its items can be named, and that nobody was asked. */
  const expectGone = async (answer: Json, asker = gateway): Promise<void> => {
    const before = double.requests.length;
    const [status, error] = await refusalOf({ previous_response_id: answer.id }, asker);
    expect([status, error]).toMatchObject([400, notFound]);
    for (const { id } of answer.output) {
      const [itemStatus, { type, message }] = await refusalOf(
        { input: [{ type: "item_reference", id }] },
        asker,
      );
      expect([itemStatus, type]).toEqual([404, "not_found_error"]);
      expect(message).toContain(
        `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false`,
      );
    }
    expect((await callKept(asker, "GET", answer.id)).status).toBe(404);
    expect((await callKept(asker, "GET", `${answer.id}/input_items`)).status).toBe(404);
    expect((await callKept(asker, "DELETE", answer.id)).status).toBe(404);
    expect(double.requests.length).toBe(before);
    expect((await asker.account()).held).toBe(0);
  };

  test("are read, and deleted at once", async () => {
    const answer = await askKept(gateway, { model: "test/gpt", input: "One", metadata: { a: "b" } });
    expect(await callKept(gateway, "GET", answer.id)).toEqual({ status: 200, json: answer });
    expect(await callKept(gateway, "DELETE", answer.id)).toEqual({
      status: 200,
      json: { id: answer.id, object: "response", deleted: true },
    });
    await expectGone(answer);
  });

  test("list what they were asked in pages of one to a hundred items, in either order", async () => {
    const answer = await askKept(gateway, { model: "test/gpt", input: "One" });
    const page = (query: string) => callKept(gateway, "GET", `${answer.id}/input_items${query}`);
    for (const query of ["", "?limit=1", "?limit=100", "?order=asc", "?order=desc"]) {
      const { status, json } = await page(query);
      expect([query, status, json.data.length]).toEqual([query, 200, 1]);
    }
    for (const [query, param] of [
      ["?limit=0", "limit"],
      ["?limit=101", "limit"],
      ["?limit=1.5", "limit"],
      ["?order=up", "order"],
    ] as const) {
      const { status, json } = await page(query);
      expect([query, status, json.error.param]).toEqual([query, 400, param]);
    }
  });

  test("are those of their account alone, by any of its keys", async () => {
    const answer = await askKept(gateway, { model: "test/gpt" });
    const other = await gateway.admin("POST", "/accounts", { name: "other" });
    await gateway.admin("POST", `/accounts/${other.json.id}/credits`, { amount: 1_000, reason: "x" });
    const keyOf = async (account_id: string): Promise<TestGateway> => {
      const { key } = (await gateway.admin("POST", "/keys", { account_id, name: "k" })).json;
      const post: TestGateway["post"] = (path, body) =>
        gateway.post(path, body, { headers: { authorization: `Bearer ${key}` } });
      return { ...gateway, key, post };
    };
    await expectGone(answer, await keyOf(other.json.id));
    const second = await keyOf(gateway.accountId);
    expect((await askKept(second, { model: "test/gpt", previous_response_id: answer.id })).status).toBe(
      "completed",
    );
  });

  test("are none of requests with store false, which may name others", async () => {
    const first = await askKept(gateway, { model: "test/gpt", input: "One" });
    const second = await askKept(gateway, {
      model: "test/gpt",
      input: "Two",
      store: false,
      previous_response_id: first.id,
    });
    expect(told()).toEqual(["One", "Answer 1", "Two"]);
    expect(second.store).toBe(false);
    await expectGone(second);
  });

  test("are gone when their time is over, whether they are deleted yet or not", async () => {
    const answer = await askKept(gateway, { model: "test/gpt" });
    clock.forward(24 * 3_600_000 - 60_000);
    expect((await callKept(gateway, "GET", answer.id)).status).toBe(200);
    clock.forward(60_000);
    await expectGone(answer);
  });

  test("that ended for their length are kept, and those that broke are not", async () => {
    const whole = await askKept(gateway, { model: "test/gpt" });
    const asIncomplete = { ...whole, id: "resp_short", status: "incomplete", credit: undefined };
    double.enqueue(jsonAnswer(200, asIncomplete));
    const short = await askKept(gateway, { model: "test/gpt" });
    expect((await callKept(gateway, "GET", short.id)).json).toEqual(short);
    const { stream, events } = streamOf({ ...whole, id: "resp_cut", credit: undefined });
    double.enqueue(sseAnswer(stream.slice(0, -1).join("")));
    const cut = await gateway.post("/api/v1/responses", { model: "test/gpt", input: "x", stream: true });
    expect(await cut.text()).toContain("response.failed");
    expect(events.length).toBeGreaterThan(1);
    expect((await callKept(gateway, "GET", "resp_cut")).status).toBe(404);
  });

  test("are sealed: no text of theirs is in the store", async () => {
    const words = "unmistakable words of a customer";
    const answer = await askKept(gateway, { model: "test/gpt", input: words, instructions: words });
    expect((await callKept(gateway, "GET", answer.id)).json.instructions ?? words).toBe(words);
    const bytes = await bytesOfStore(place, engine.name);
    expect(bytes).toContain(answer.id);
    for (const text of [words, "Answer 1.", "Thought 1."]) expect(bytes).not.toContain(text);
  });

  test("cost what their whole input costs, and it is held before", async () => {
    const long = "word ".repeat(20_000);
    const first = await askKept(gateway, { model: "test/gpt", input: long });
    const { key } = (
      await gateway.admin("POST", "/keys", { account_id: gateway.accountId, name: "poor", budget: 100 })
    ).json;
    const ask = (body: Json): Promise<Response> =>
      gateway.post(
        "/api/v1/responses",
        { model: "test/gpt", input: "x", ...body },
        {
          headers: { authorization: `Bearer ${key}` },
        },
      );
    expect((await ask({})).status).toBe(200);
    expect((await ask({ previous_response_id: first.id })).status).toBe(402);
    expect((await ask({ input: [{ type: "item_reference", id: `msg_0_${first.id}` }] })).status).toBe(402);
    const counted = await gateway.post("/api/v1/responses/input_tokens", {
      model: "anthropic/claude-haiku-4.5",
      previous_response_id: first.id,
    });
    expect(((await counted.json()) as Json).input_tokens).toBeGreaterThan(20_000);
    expect(counted.headers.get("x-switchyard-estimate")).toBe("true");
  });

  test("may be named by large bodies, which are read on a thread", async () => {
    const first = await askKept(gateway, { model: "test/gpt", input: "One" });
    const [, { id }] = first.output;
    const large = { role: "user", content: "x".repeat(300_000) };
    const second = await askKept(gateway, {
      model: "test/gpt",
      previous_response_id: first.id,
      input: [large, { type: "item_reference", id }, { role: "user", content: "Two" }],
    });
    expect(told()).toEqual(["One", "Answer 1", "Answer 1", "Two"]);
    await askKept(gateway, { model: "test/gpt", previous_response_id: second.id, input: "Three" });
    expect(sent().input).toHaveLength(9);
    expect(sent().input[3]).toEqual(large);
  });

  test("are put into a request that is small itself on a thread, too, and may not make it endless", async () => {
    const large = [{ role: "user", content: "x".repeat(4_000_000) }];
    const first = await askKept(gateway, { model: "test/gpt", input: large });
    await askKept(gateway, { model: "test/gpt", previous_response_id: first.id, input: "Two" });
    expect(sent().input[0]).toEqual(large[0]);
    expect(told()).toEqual(["Answer 1", "Two"]);
    const named = { type: "item_reference", id: `msg_0_${first.id}` };
    const before = double.requests.length;
    const [status, { type }] = await refusalOf({ input: Array.from({ length: 9_000 }, () => named) });
    expect([status, type]).toEqual([400, "input_too_large"]);
    expect(double.requests.length).toBe(before);
  });

  test("are named by ids alone: what every object has is the id of none", async () => {
    for (const id of ["constructor", "__proto__", "toString", "", "msg_0_constructor"]) {
      const [status] = await refusalOf({ input: [{ type: "item_reference", id }] });
      expect([id, status]).toEqual([id, 404]);
      expect((await refusalOf({ previous_response_id: id || "x" }))[0]).toBe(400);
    }
  });

  test("may be named many at once, of many answers and in any order", async () => {
    const answers: Json[] = [];
    for (let i = 0; i < 20; i += 1) answers.push(await askKept(gateway, { model: "test/gpt", input: "One" }));
    const said = answers.map(({ output }) => output[1]);
    const named = [...said, ...said.toReversed()].map(({ id }) => ({ type: "item_reference", id }));
    const input = [{ type: "item_reference", id: `msg_0_${answers[3].id}` }, ...named];
    await askKept(gateway, { model: "test/gpt", input: [...input, { role: "user", content: "Two" }] });
    expect(sent().input.slice(1, -1)).toEqual([...said, ...said.toReversed()]);
    expect(sent().input[0]).toMatchObject({ role: "user", content: "One" });
  });

  test("are a hundred in a row at the most, and a ring of them ends", async () => {
    let last = await askKept(gateway, { model: "test/gpt", input: "One" });
    for (let i = 1; i < 100; i += 1)
      last = await askKept(gateway, { model: "test/gpt", input: "Two", previous_response_id: last.id });
    const whole = await askKept(gateway, {
      model: "test/gpt",
      input: "Three",
      previous_response_id: last.id,
    });
    expect(sent().input).toHaveLength(301);
    const [status, error] = await refusalOf({ previous_response_id: whole.id });
    expect([status, error]).toMatchObject([400, notFound]);
    expect(error.message).toContain("more than 100 answers");
    const again = { ...whole, id: "resp_ring", credit: undefined };
    double.enqueue(
      jsonAnswer(200, again),
      jsonAnswer(200, { ...again, id: "resp_ring_2" }),
      jsonAnswer(200, again),
    );
    await askKept(gateway, { model: "test/gpt" });
    await askKept(gateway, { model: "test/gpt", previous_response_id: "resp_ring" });
    await askKept(gateway, { model: "test/gpt", previous_response_id: "resp_ring_2" });
    expect((await refusalOf({ previous_response_id: "resp_ring" }))[0]).toBe(400);
  });

  test("that go on from one that was deleted cannot be gone on from, and say which is missing", async () => {
    const first = await askKept(gateway, { model: "test/gpt", input: "One" });
    const second = await askKept(gateway, { model: "test/gpt", previous_response_id: first.id });
    await callKept(gateway, "DELETE", first.id);
    const [status, error] = await refusalOf({ previous_response_id: second.id });
    expect([status, error]).toMatchObject([400, notFound]);
    expect(error.message).toContain(first.id);
    expect((await callKept(gateway, "GET", second.id)).status).toBe(200);
  });
});
