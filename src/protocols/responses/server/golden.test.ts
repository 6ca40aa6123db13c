import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { finish, part, start, text, thought } from "../../../../test/protocols/chat-events.ts";
import { RESPONSE_CONTEXT, responseStream } from "../../../../test/protocols/response-events.ts";
import { goldenStream } from "../../../../test/upstream/recordings.ts";
import { GatewayError } from "../../../core/errors.ts";
import { type Echo, echoOf } from "./echo.ts";

const OWN = (name: string): string => join(import.meta.dir, "../../../../test/golden", name);

const THOUGHT = part(0, thought("sig", "hm ", "m2"));
const CALL_A = { begun: { type: "tool_call", id: "call_a", name: "f" }, deltas: ['{"x"', ":1}"] } as const;
const CALL_B = { begun: { type: "tool_call", id: "call_b", name: "g" } } as const;
const SQL = {
  begun: { type: "tool_call", id: "call_c", name: "sql", custom: true },
  deltas: ["SELECT ", "1;"],
} as const;

const STREAMS = {
  "responses.sse": [
    start,
    ...THOUGHT,
    ...part(1, text("Let ", "me.")),
    ...part(2, CALL_A),
    ...part(3, CALL_B),
    finish("tool_calls"),
  ],
  "responses-custom-tool.sse": [start, ...THOUGHT, ...part(1, SQL), finish("tool_calls")],
  "responses-error.sse": [start, ...THOUGHT, ...part(1, text("Let ")).slice(0, -1)],
};

const ECHO: Echo = { asked: echoOf({ store: false }), calls: {}, compacts: false };

/** Ids that are minted, state that is sealed, and the second in which it ended. */
const MINTED = /"(?:resp|rs|msg|fc|ctc)_\w+"|"encrypted_content":"[^"]*"|"completed_at":\d+/g;

describe("golden streams come out byte for byte", () => {
  for (const [name, events] of Object.entries(STREAMS)) {
    for (const path of [OWN(name), goldenStream(name)]) {
      // Those that clients were tried with stand outside of the repository.
      if (!existsSync(path)) continue;
      test(`${name}${path === OWN(name) ? "" : ", the one that many clients were tried with"}`, () => {
        const golden = readFileSync(path, "utf8").replace(": ka\n\n", "");
        const broken = new GatewayError("upstream_error", "The upstream ended early.");
        const stream = responseStream(events, {
          context: { ...RESPONSE_CONTEXT, echo: { ...ECHO } },
          ...(name === "responses-error.sse" ? { broken } : {}),
        });
        const ids = golden.match(MINTED) ?? [];
        const minted = stream.match(MINTED) ?? [];
        expect(minted.length).toBe(ids.length);
        // The same id wherever the golden stream has one.
        expect(new Set(minted.map((id, i) => `${id} ${ids[i]}`)).size).toBe(new Set(ids).size);
        let at = 0;
        expect(stream.replaceAll(MINTED, () => ids[at++] ?? "").trimEnd()).toBe(golden.trimEnd());
      });
    }
  }
});
