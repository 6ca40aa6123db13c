import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { answerFrom, recordingsFor } from "../upstream/recordings.ts";
import { selectCases } from "./cases.ts";
import { costOf, type CountedTokens, creditText } from "./charge.ts";
import { foldRecorded } from "./chat/fold.ts";
import { tokensOf } from "./chat/tokens.ts";
import type { ReplayCase } from "./format.ts";
import { type Replay, startReplay } from "./replay-gateway.ts";
import type { Json } from "./wire-json.ts";

// Recorded answers of compatible vendors, each to a request that bounds output to its text. What they count as
// reasoning may be beyond the bound. So the price is that of the recorded usage, as without one.

const available = recordingsFor("small bounds on recordings");

/** Counts this far above a bound pass in any case. */
const slackOf = (bound: number): number => bound * 0.25 + 256;

const { cases, answersAlone } = available ? selectCases("chat-completions") : { cases: [], answersAlone: [] };
const reasoned = [...cases, ...answersAlone].flatMap((found) => {
  const counted = countedIn(found);
  return counted === undefined ? [] : [{ found, counted }];
});

/** The usage of a good answer that is far above a bound on its text. */
function countedIn({ native, kind, recording }: ReplayCase): CountedTokens | undefined {
  if (native || kind === "refusal") return undefined;
  const body: Json = recording.response.body;
  const { usage } = kind === "stream" ? foldRecorded(body, []) : body;
  if (usage === undefined || usage === null) return undefined;
  const counted = tokensOf(usage);
  const { reasoning, output } = counted.tokens;
  return reasoning > slackOf(output) ? counted : undefined;
}

describe.skipIf(!available)("recorded reasoning beyond a small bound on output", () => {
  let replay: Replay;
  beforeAll(async () => {
    replay = await startReplay(reasoned.map(({ found }) => found));
  });
  afterAll(() => replay.close());

  test("there are such recordings", () => expect(reasoned.length).toBeGreaterThan(0));

  for (const { found, counted } of reasoned) {
    test(`is charged whole: ${found.recording.path}`, async () => {
      const { modelId: model, format, kind, recording } = found;
      const stream = kind === "stream";
      const asked = {
        model,
        messages: [{ role: "user", content: "Hello." }],
        max_tokens: counted.tokens.output + 1,
        stream,
      };
      const path = format.clientPath(model, stream, 0);
      const exchange = await replay.ask(
        { path, headers: {}, body: JSON.stringify(asked) },
        answerFrom(recording),
      );
      const { tokens, pieces } = replay.pricesFor(model);
      const whole = creditText(costOf(counted, tokens, pieces));
      expect({ status: exchange.status, credit: JSON.stringify(exchange.row?.credit) }).toEqual({
        status: 200,
        credit: whole,
      });
      expect(exchange.row?.flags).not.toContain("clamped");
    });
  }
});
