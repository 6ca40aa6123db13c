import { afterEach, describe, expect, test } from "bun:test";
import { toBytes, toText } from "./bytes.ts";
import { delivered } from "./counts.ts";
import { startUpstreamDouble } from "./double.ts";
import { answerFrom, loadRecordings, recordedBytes, recordingsAvailable } from "./recordings.ts";
import type { Recording } from "./recordings.ts";

const configured = process.env["SWITCHYARD_RECORDINGS"];
afterEach(() => {
  if (configured === undefined) delete process.env["SWITCHYARD_RECORDINGS"];
  else process.env["SWITCHYARD_RECORDINGS"] = configured;
});

const MADE_UP: Recording = {
  path: "made-up/x.json",
  name: "x",
  provider: "made-up",
  protocol: "chat-completions",
  model: "m",
  fidelity: "authored",
  features: [],
  request: { method: "POST", url: "http://x/", headers: {}, body: null },
  response: {
    status: 201,
    headers: {
      "Content-Type": "application/json",
      "Content-Length": "9",
      "content-encoding": "br",
      "transfer-encoding": "chunked",
      Connection: "close",
      "x-request-id": "r",
    },
    body: { a: [1, "ü"] },
  },
};
const withBody = (body: unknown, headers: Record<string, string> = {}): Recording => ({
  ...MADE_UP,
  response: { status: 200, headers, body },
});

test("a recorded answer keeps its headers but those of framing and encoding", () => {
  const answer = answerFrom(MADE_UP, { headers: [["x-added", "1"]] });
  expect(answer.status).toBe(201);
  expect(answer.headers).toEqual([
    ["Content-Type", "application/json"],
    ["x-request-id", "r"],
    ["x-added", "1"],
  ]);
  expect(answer.body).toBe('{"a":[1,"ü"]}');
});

test("text is sent as it is, base64 as its bytes, null as nothing, JSON without a type as JSON", () => {
  expect(answerFrom(withBody('{ "a" : 1 }')).body).toBe('{ "a" : 1 }');
  expect([...toBytes(recordedBytes({ base64: "AP8=" }))]).toEqual([0, 255]);
  expect(answerFrom(withBody(null)).body).toBe("");
  expect(answerFrom(withBody({ a: 1 })).headers).toEqual([["content-type", "application/json"]]);
});

test("a recorded stream is chunked at its events unless told otherwise", () => {
  const stream = withBody("data: 1\n\n", { "content-type": "text/event-stream" });
  expect(answerFrom(stream)).toMatchObject({ framing: "chunked", cut: "events" });
  expect(answerFrom(stream, { cut: { seed: 1 } })).toMatchObject({ framing: "chunked", cut: { seed: 1 } });
});

test("recordings elsewhere are named by the environment, and their absence is no error", () => {
  process.env["SWITCHYARD_RECORDINGS"] = "/nowhere/at/all";
  expect(recordingsAvailable()).toBe(false);
});

describe.skipIf(!recordingsAvailable())(
  "with the recordings (skipped where ../shared/recordings is absent)",
  () => {
    test("a folder is read once, by path, and its records have their parts", () => {
      const recordings = loadRecordings("chat-completions");
      expect(loadRecordings("chat-completions")).toBe(recordings);
      expect(recordings.length).toBeGreaterThan(200);
      for (const { path, name, request, response } of recordings) {
        expect(path).toBe(`${path.slice(0, path.lastIndexOf("/"))}/${name}.json`);
        expect(request.method).toBe("POST");
        expect(response.status).toBeLessThan(400);
      }
      expect(loadRecordings("errors/openai").every((each) => each.provider === "openai")).toBe(true);
    });

    test("every recorded chat completion, stream or not, arrives in fetch as it was recorded", async () => {
      const double = await startUpstreamDouble();
      const recordings = [...loadRecordings("chat-completions"), ...loadRecordings("errors")];
      for (const recording of recordings) {
        double.reset();
        double.enqueue(answerFrom(recording, { cut: { seed: 5, maxBytes: 900 } }));
        const response = await fetch(double.url, { method: "POST", body: "{}", redirect: "manual" });
        expect(response.status).toBe(recording.response.status);
        expect(new Uint8Array(await response.arrayBuffer())).toEqual(
          new Uint8Array(toBytes(recordedBytes(recording.response.body))),
        );
      }
      await double.close();
    });

    test("what was recorded with usage is counted with it", async () => {
      const double = await startUpstreamDouble();
      const withUsage = loadRecordings("chat-completions/openai").filter((each) =>
        each.features.includes("usage"),
      );
      expect(withUsage.length).toBeGreaterThan(20);
      for (const recording of withUsage) {
        double.reset();
        double.enqueue(answerFrom(recording));
        const text = await (await fetch(double.url, { method: "POST", body: "{}" })).text();
        const request = await double.waitForRequest(1);
        await double.waitForOutcome(request);
        expect(delivered(request)).toMatchObject({
          complete: true,
          usage: { prompt_tokens: expect.any(Number) },
        });
        expect(toText(toBytes(text))).toBe(text);
      }
      await double.close();
    });
  },
);
