import { expect, test } from "bun:test";
import { wireRequest } from "../../../test/protocols/wire-request.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { Model } from "../../core/model.ts";
import { sealCarrier } from "../carrier.ts";
import type { RelayTarget } from "../protocol.ts";
import { responses } from "./index.ts";

const KEY = { secret: "s", account: "a" };
const TARGET: RelayTarget = {
  model: { id: "v/m", maxOutput: null, ignoredParameters: [], prices: {} } as unknown as Model,
  upstreamId: "up",
  unknownFields: "remove",
  native: true,
  streamUsageOption: false,
};
const user = { role: "user", content: "Go on." };
const compaction = (account: string) => ({
  type: "compaction",
  id: "cmp_1",
  encrypted_content: sealCarrier({ kind: "compaction", text: "So far: A." }, { ...KEY, account }),
});
const sentFor = (input: readonly object[]) => {
  const wire = wireRequest({ model: "v/m", input }, { carrier: KEY });
  const { body } = responses.upstreamBody(responses.readRequest(wire), TARGET);
  return JSON.parse(new TextDecoder().decode(joinBytes(body))).input;
};

test("a summary that another model wrote here goes up in words", () => {
  const message = {
    type: "message",
    role: "developer",
    content: [{ type: "input_text", text: "So far: A." }],
  };
  expect(sentFor([compaction("a"), user])).toEqual([message, user]);
  const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
  expect(sentFor([compaction("a"), reasoning, user])).toEqual([message, user]);
});

test("a summary of another account's is refused, and a vendor's own goes up as it is", () => {
  expect(() => sentFor([compaction("b"), user])).toThrow(
    "input[0].encrypted_content is sealed for somebody else",
  );
  const own = { type: "compaction", id: "cmp_2", encrypted_content: "gAAAA" };
  expect(sentFor([own, user])).toEqual([own, user]);
});
