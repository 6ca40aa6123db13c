import { expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { readSamples, scrape, those } from "./samples.ts";

const GOOD = chatAnswer({
  words: ["Hello."],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

test("attempts, retries by reason and step, and the states of routes and breakers are those of what happened", async () => {
  const first = await startUpstreamDouble();
  const second = await startUpstreamDouble();
  const clock = createFakeClock();
  const gateway = await startGateway({
    clock,
    environment: { FIRST_KEY: "sk-first-1", FIRST_KEY_2: "sk-first-2", SECOND_KEY: "sk-second-1" },
    settings: `
providers:
  first:
    base_url: "${first.url}/v1"
    api_key_env: FIRST_KEY
    credentials: [{ env: FIRST_KEY_2 }]
    models:
      - { id: t/model, upstream_id: up-1, prices: { input: 1, output: 2 } }
      - { id: t/cheap, upstream_id: up-cheap, prices: { input: 0.5, output: 1 } }
  second:
    base_url: "${second.url}/v1"
    api_key_env: SECOND_KEY
    models:
      - { id: t/dear, upstream_id: up-dear, prices: { input: 4, output: 8 } }
routing:
  models:
    t/model: { routes: [{ provider: first }, { provider: second, upstream_id: up-2 }] }
    t/cheap: { fallback: [t/dear] }
    openai/gpt-5.6-luna: { fallback: [t/dear] }
`,
  });
  const ask = async (model: string, status: number, models?: readonly string[]): Promise<void> => {
    const messages = [{ role: "user", content: "Hello." }];
    expect((await gateway.chat({ model, models, messages, max_tokens: 20 })).status).toBe(status);
  };
  // Another credential, and the first one's breaker opens.
  first.enqueue(jsonAnswer(401, {}), GOOD);
  await ask("t/model", 200);
  // Another route; the model rests at the first provider.
  first.enqueue(jsonAnswer(404, {}));
  second.enqueue(GOOD);
  await ask("t/model", 200);
  // Another model, since there is no other route.
  first.enqueue(jsonAnswer(404, {}));
  second.enqueue(GOOD);
  await ask("t/cheap", 200);
  // Another model at once: the first one rests, and nothing is sent again.
  second.enqueue(GOOD);
  await ask("t/cheap", 200);
  // Another model, since nobody serves the one that is asked for.
  second.enqueue(GOOD);
  await ask("openai/gpt-5.6-luna", 200);
  // Another one that the caller names, by a name of its own.
  second.enqueue(GOOD, GOOD, GOOD);
  await ask("t/none", 200, ["t/dear"]);
  await ask("openai/gpt-5.6-sol", 200, ["t/dear"]);
  await ask("cheap", 200, ["t/cheap", "t/dear"]);
  // The same once more, after a pause.
  second.enqueue(jsonAnswer(500, {}), GOOD);
  const asked = ask("t/dear", 200);
  await second.waitForRequest(8);
  while (second.requests.length < 9) await clock.advance(50);
  await asked;
  // Nothing is sent again.
  second.enqueue(jsonAnswer(400, { error: { message: "No." } }));
  await ask("t/dear", 400);
  await gateway.settled();

  const samples = readSamples(await scrape(gateway));
  expect(those(samples, "switchyard_retries_total")).toEqual({
    '{provider="first",reason="credential_refused",to="credential"}': 1,
    '{provider="first",reason="model_unknown",to="route"}': 1,
    '{provider="first",reason="model_unknown",to="model"}': 1,
    '{provider="second",reason="failed",to="same"}': 1,
  });
  expect(those(samples, "switchyard_fallbacks_total")).toEqual({
    '{asked="t/cheap",model="t/dear"}': 3,
    '{asked="openai/gpt-5.6-luna",model="t/dear"}': 1,
    '{asked="openai/gpt-5.6-sol",model="t/dear"}': 1,
  });
  expect(those(samples, "switchyard_attempts_total")).toEqual({
    '{provider="first",result="401"}': 1,
    '{provider="first",result="200"}': 1,
    '{provider="first",result="404"}': 2,
    '{provider="second",result="200"}': 8,
    '{provider="second",result="500"}': 1,
    '{provider="second",result="400"}': 1,
  });
  expect(those(samples, 'switchyard_requests_total{endpoint="/api/v1/chat/completions",')).toEqual({
    'model="t/model",provider="first",outcome="completed"}': 1,
    'model="t/model",provider="second",outcome="completed"}': 1,
    'model="t/dear",provider="second",outcome="completed"}': 7,
    'model="t/dear",provider="second",outcome="invalid_request_error"}': 1,
  });
  expect(those(samples, "switchyard_route_state")).toEqual({
    '{model="t/model",provider="first",upstream_id="up-1",credential="FIRST_KEY"}': 2,
    '{model="t/model",provider="first",upstream_id="up-1",credential="FIRST_KEY_2"}': 1,
    '{model="t/model",provider="second",upstream_id="up-2",credential="only"}': 0,
    '{model="t/cheap",provider="first",upstream_id="up-cheap",credential="FIRST_KEY"}': 2,
    '{model="t/cheap",provider="first",upstream_id="up-cheap",credential="FIRST_KEY_2"}': 1,
    '{model="t/dear",provider="second",upstream_id="up-dear",credential="only"}': 0,
  });
  expect(those(samples, "switchyard_breaker_open")).toEqual({
    '{provider="first",credential="FIRST_KEY"}': 1,
    '{provider="first",credential="FIRST_KEY_2"}': 0,
    '{provider="second",credential="only"}': 0,
  });
  for (const { close } of [gateway, first, second]) await close();
});
