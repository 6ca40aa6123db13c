import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chatCompletions } from "../../src/protocols/chat-completions/index.ts";
import { ANSWER_CONTEXT } from "../protocols/answer-context.ts";
import { SEED } from "../runs.ts";
import { type Recording, recordingsFor } from "../upstream/recordings.ts";
import { selectCases } from "./cases.ts";
import type { ReplayCase } from "./format.ts";
import { play, type Played, type Round } from "./play.ts";
import { type Replay, startReplay } from "./replay-gateway.ts";
import { type Outcome, tableOf } from "./table.ts";
import { paddingOf, vendorOf } from "./vendors.ts";

// Every recorded exchange of a format that is served, through the gateway to a double that answers as the provider did.
// It makes the same request upstream, the same content for the client, and the recorded usage at our prices.

const available = recordingsFor("replay of recordings");

const FOLDERS = [
  "chat-completions",
  "messages",
  "generate-content",
  "responses",
  "cross-protocol",
  "errors",
  "other",
];
const selections = available ? FOLDERS.map(selectCases) : [];
const cases = selections.flatMap((selection) => selection.cases);
const answersAlone = selections.flatMap((selection) => selection.answersAlone);
const outcomes: Outcome[] = [];
const answered: Recording[] = [];
const counted = new Map<string, Set<string>>();
const repairs = new Map<string, Map<string, number>>();
/** Recordings whose repairs the access line did not name. */
const unlogged = new Set<string>();
let replay: Replay;

function roundsOf(found: ReplayCase, nth: number): readonly Round[] {
  const seed = SEED * 100_003 + nth;
  const { plain, hostile } = found.format.pairs(found, seed);
  return [
    { pair: plain, hostile: false, seed },
    { pair: hostile, hostile: true, seed },
  ];
}

async function playAll(found: ReplayCase, nth: number): Promise<void> {
  for (const round of roundsOf(found, nth)) {
    const played = await play(replay, found, round);
    noteCounted(found, played);
    noteRepairs(found, played, round.hostile);
  }
}

describe.skipIf(!available)("replay of recorded traffic", () => {
  beforeAll(async () => {
    replay = await startReplay([...cases, ...answersAlone]);
  });
  afterAll(async () => {
    console.log(tableOf(selections, outcomes, { answered, counted, repairs }));
    await replay.close();
  });

  cases.forEach((found, nth) => {
    test(found.recording.path, async () => {
      const { recording } = found;
      try {
        await playAll(found, nth);
        outcomes.push({ recording, ...resultOf(found) });
      } catch (error) {
        outcomes.push({ recording, result: "failed" });
        throw error;
      }
    });
  });

  answersAlone.forEach((found, nth) => {
    test(`the answer alone: ${found.recording.path}`, async () => {
      await playAll(found, cases.length + nth);
      answered.push(found.recording);
    });
  });

  test("the access line names the repairs of a plain answer", () => {
    expect([...unlogged]).toEqual([]);
  });

  test("every recording is either replayed or excluded for a reason", () => {
    for (const { folder, files, cases, exclusions } of selections) {
      const mine = outcomes.filter(({ recording }) => recording.path.startsWith(`${folder}/`));
      const paths = [...mine, ...exclusions].map(({ recording }) => recording.path);
      expect([folder, new Set(paths).size]).toEqual([folder, files]);
      expect([folder, mine.length + exclusions.length]).toEqual([folder, files]);
      expect([folder, mine.length]).toEqual([folder, cases.length]);
    }
  });
});

function resultOf({ ownRefusal }: ReplayCase): Pick<Outcome, "result" | "note"> {
  if (ownRefusal === undefined) return { result: "held" };
  return { result: "refused", note: `${ownRefusal.fields.join(", ")}: ${ownRefusal.why}` };
}

function noteCounted({ format, recording }: ReplayCase, { isCounted }: Played): void {
  const paths = counted.get(format.protocol) ?? new Set<string>();
  if (isCounted) paths.add(recording.path);
  counted.set(format.protocol, paths);
}

function noteRepairs(found: ReplayCase, { sent, exchange }: Played, hostile: boolean): void {
  const logged = Array.isArray(exchange.log.repairs) ? exchange.log.repairs.map(String) : [];
  const acted = sent === undefined ? logged : repairsOfPlain(found, sent);
  if (acted.length > 0 && String(logged) !== String(acted)) unlogged.add(found.recording.path);
  if (hostile || acted.length === 0) return;
  const vendor = vendorOf(found.recording);
  const counts = repairs.get(vendor) ?? new Map<string, number>();
  for (const name of acted) counts.set(name, (counts.get(name) ?? 0) + 1);
  repairs.set(vendor, counts);
}

/** The repairs that a plain answer needs, asked of the protocol itself: the table must not depend on the log. */
function repairsOfPlain(found: ReplayCase, body: string): readonly string[] {
  if (found.format.protocol !== "chat-completions") return [];
  const context = {
    ...ANSWER_CONTEXT,
    model: found.modelId,
    native: found.native,
    padding: paddingOf(found.recording),
    choices: found.body.n ?? 1,
  };
  return chatCompletions.readAnswer(new TextEncoder().encode(body), context).repairs;
}
