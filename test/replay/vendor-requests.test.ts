import { describe, expect, test } from "bun:test";
import { joinBytes } from "../../src/core/bytes/bytes.ts";
import { buildModel } from "../../src/catalog/catalog.ts";
import { readRequest } from "../../src/protocols/chat-completions/request.ts";
import { upstreamBody } from "../../src/protocols/chat-completions/upstream-body.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { wireRequest } from "../protocols/wire-request.ts";
import { recordingsAvailable } from "../upstream/recordings.ts";
import { selectCases } from "./cases.ts";
import { boundField } from "./chat/format.ts";
import { vendorOf } from "./vendors.ts";
import type { Json } from "./wire-json.ts";

// What a vendor took in a recording, sent to it through its own dialect. It goes up as it was, but for what the table
// below lists. So no quirk takes away what the vendor does take.

const FOLDERS: Readonly<Record<string, string>> = { zhipu: "zai" };

/** Fields of a vendor that do not go up: they choose who serves, at prices that are not the model's. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  openrouter: ["provider", "models", "transforms"],
};

const available = recordingsAvailable();
const cases = available ? selectCases("chat-completions").cases : [];

describe.skipIf(!available)(
  "requests that vendors took (skipped where ../shared/recordings is absent)",
  () => {
    for (const { recording, body, ownRefusal, kind } of cases) {
      const vendor = vendorOf(recording);
      const provider = PROVIDERS.find(({ id }) => id === (FOLDERS[vendor] ?? vendor));
      const dialect = provider?.protocols.find(({ id }) => id === "compat_chat_completions")?.dialect;
      if (dialect === undefined || ownRefusal !== undefined || kind === "refusal") continue;
      test(recording.path, () => {
        const model = buildModel(
          "v/m",
          "language",
          { max_tokens_field: boundField(body), prices: { input: 1, output: 1 } },
          { supportedProtocols: [], routes: [] },
        );
        const sent = upstreamBody(readRequest(wireRequest(body as object)), {
          model,
          upstreamId: String(body.model),
          unknownFields: dialect.unknownFields,
          native: dialect.kind === "native",
          streamUsageOption: dialect.streamUsageOption,
          ...(dialect.chat === undefined ? {} : { chat: dialect.chat }),
        });
        const got: Json = JSON.parse(new TextDecoder().decode(joinBytes(sent.body)));
        const wanted: Json = structuredClone(body);
        delete got.stream_options;
        delete wanted.stream_options;
        // The models that may serve are for the gateway to choose among.
        delete wanted.models;
        const left = (LEFT_OUT[vendor] ?? []).filter((name) => name in wanted);
        for (const name of left) delete wanted[name];
        // The same text twice, of which the vendor knows one.
        if (vendor === "deepseek") for (const message of wanted.messages) delete message.reasoning;
        expect(got).toEqual(wanted);
        expect(sent.warnings.map((warning) => warning.split(" ")[0] as string).toSorted()).toEqual(
          left.toSorted(),
        );
      });
    }
  },
);
