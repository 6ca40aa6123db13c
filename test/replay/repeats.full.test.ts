import { describe, expect, test } from "bun:test";
import type { ProtocolId } from "../../src/core/model.ts";
import { cutsWithin, playStage, type StageForm, type Way, WAYS } from "../protocols/repeated-streams.ts";
import { LONG } from "../runs.ts";
import { recordingsFor } from "../upstream/recordings.ts";
import { chatCutFormat } from "./chat/cut-format.ts";
import type { CutFormat } from "./cut-format.ts";
import { recordedStreams } from "./cut-streams.ts";
import { generateCutFormat } from "./generate/cut-format.ts";
import { messagesCutFormat } from "./messages/cut-format.ts";

// Every recorded stream: events that are held against the one before give what their scan gives, relayed and translated.

recordingsFor("recorded streams");

/** So many places in a stream are cut, each by itself. */
const MOST_CUTS = LONG ? 20_000 : 150;

const FORMATS: Readonly<Partial<Record<ProtocolId, CutFormat>>> = {
  compat_chat_completions: chatCutFormat,
  compat_messages: messagesCutFormat,
  compat_generate_content: generateCutFormat,
};

for (const way of WAYS) {
  const format = FORMATS[way[1]];
  describe(way.join(" from "), () => {
    for (const { name, bytes, native, padding, choices } of format
      ?.ownStreams()
      .concat(recordedStreams(format)) ?? [])
      test(name, () => checkStream(way, { native, padding, choices }, bytes));
  });
}

function checkStream(way: Way, form: StageForm, bytes: Uint8Array): void {
  const scanned = playStage(way, form, bytes, cutsWithin(bytes));
  expect(playStage(way, form, bytes, [])).toBe(scanned);
  const step = Math.max(1, Math.ceil(bytes.length / MOST_CUTS));
  for (let cut = 1; cut < bytes.length; cut += step)
    expect([cut, playStage(way, form, bytes, [cut])]).toEqual([cut, scanned]);
}
