import { loadRecordings, type Recording, recordingsAvailable } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { answerOf, type RecordedAnswer } from "./recorded-answers.ts";
import { TARGETS, type Target } from "./wanted.ts";

/** A recorded chat completions request, sent to a model that speaks another wire. */
export interface CrossCase {
  readonly recording: Recording;
  /** The folder: the same logical request in every wire. */
  readonly name: string;
  readonly turn: "first" | "followup";
  readonly stream: boolean;
  readonly target: Target;
  readonly body: Json;
  /** The answer of the provider to the same case, else to a simple one. */
  readonly answer: RecordedAnswer;
  readonly isOwnAnswer: boolean;
  /** The body of the same first turn as it was recorded in the target's wire. */
  readonly recorded: Json;
}

const WIRE = { claude: "anthropic", gemini: "google" } as const;

/** Every chat completions request of the cross-protocol recordings, once for each target. */
export function crossCases(): readonly CrossCase[] {
  if (!recordingsAvailable()) return [];
  const all = loadRecordings("cross-protocol");
  return all
    .filter(({ protocol }) => protocol === "chat-completions")
    .flatMap((recording) => TARGETS.map((target) => caseOf(recording, target, all)));
}

function caseOf(recording: Recording, target: Target, all: readonly Recording[]): CrossCase {
  const [, name = "", file = ""] = recording.path.split("/");
  const turn = file.includes("--followup--") ? "followup" : "first";
  const body: Json = recording.request.body;
  const stream = body.stream === true;
  const wire = WIRE[target.vendor];
  const mode = stream ? "stream" : "sync";
  const at = (folder: string, form: string): Recording | undefined =>
    all.find(({ path }) => path === `cross-protocol/${folder}/${wire}--${turn}--${form}.json`);
  const own = at(name, mode);
  // The SDK insists on JSON where that was asked for.
  const simple = /"json_/.test(JSON.stringify(body.response_format ?? ""))
    ? "textFormatJsonSchemaWithDescriptionParam"
    : "simpleRequest";
  const answer = own ?? at(simple, mode);
  if (answer === undefined) throw new Error(`${recording.path}: there is no answer for it`);
  const recorded = turn === "first" ? (at(name, "sync") ?? at(name, "stream"))?.request.body : undefined;
  return {
    recording,
    name,
    turn,
    stream,
    target,
    body,
    answer: answerOf(answer),
    isOwnAnswer: own !== undefined,
    recorded,
  };
}

/** Requests that this gateway must refuse, by the vendor that cannot be told and the field that the error names. */
export const REFUSED: Readonly<Record<string, Readonly<Partial<Record<Target["vendor"], string>>>>> = {
  predictionParam: { claude: "prediction", gemini: "prediction" },
  nMultipleCompletionsParam: { claude: "n" },
  logprobsParam: { claude: "logprobs" },
  chatCompletionsUrlBackedVideoFileParam: { claude: "messages" },
};
