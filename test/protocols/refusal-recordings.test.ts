import { describe, expect, test } from "bun:test";
import { readRefusal } from "../../src/protocols/refusal.ts";
import { loadRecordings, recordedBytes, recordingsAvailable } from "../upstream/recordings.ts";
import { ANSWER_CONTEXT } from "./answer-context.ts";

// Every recorded error of every provider and format, read as the refusal that it is.

const CONTEXT = { ...ANSWER_CONTEXT, native: false };

/** By status; a 400 that is not listed below is the caller's, and one that is means this. */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "operator",
  403: "operator",
  404: "operator",
  429: "overloaded_error",
  500: "upstream_error",
};

const BY_MEANING: Readonly<Record<string, string>> = {
  "anthropic/claude-haiku-4-5-20251001--400--148309a7": "input_too_large",
  "bedrock/does-not-exist--400--2448ac54": "operator",
  "bedrock/us.amazon.nova-2-lite-v1--400--fc77342b": "input_too_large",
  "cohere/command-a-03-2025--400--18c3c63b": "input_too_large",
  "deepseek/deepseek-chat--400--7824b654": "input_too_large",
  "google-vertex/gemini-2.5-flash--400--f50aa52e": "input_too_large",
  "google/gemini-2.5-flash--400--14b1e252": "operator",
  "google/gemini-2.5-flash--400--fbb5d641": "operator",
  "ollama/gpt-oss-120b--400--a3243bed": "input_too_large",
  "openai/gpt-5-nano--400--5f63edcb": "input_too_large",
  "openai/gpt-5.2-proo--400--47780ff3": "operator",
  "openai/invalid-model-that-does-not-exist-12345--400--1f4c4394": "operator",
  "openai/this-model-does-not-exist--400--892608a8": "operator",
  "openai/this-model-does-not-exist-12345--400--2c99dd13": "operator",
  "openai/x--400--94e9dfce": "operator",
  "openrouter/anthropic-claude-haiku-4.5--400--6c5464aa": "input_too_large",
  "perplexity/sonar--400--9f8f0dbe": "input_too_large",
  "xai/grok-4.3--400--7547fb41": "operator",
};

describe.skipIf(!recordingsAvailable())(
  "recorded errors (skipped where ../shared/recordings is absent)",
  () => {
    const errors = recordingsAvailable() ? loadRecordings("errors") : [];

    test("there are all of them", () => expect(errors.length).toBeGreaterThan(100));

    for (const { path, response } of errors) {
      const name = path.replace(/^errors\//, "").replace(/\.json$/, "");
      const expected = BY_MEANING[name] ?? BY_STATUS[response.status];
      test(`${name} is ${expected}`, () => {
        const written = recordedBytes(response.body);
        const body = typeof written === "string" ? new TextEncoder().encode(written) : written;
        const error = readRefusal({ status: response.status, body, retryAfter: null }, CONTEXT);
        expect(error.operatorFault ? "operator" : error.kind).toBe(expected as string);
        // A provider's 401, 402, 403 and 404 are never the client's.
        expect([400, 502, 503, 504]).toContain(error.status);
      });
    }
  },
);
