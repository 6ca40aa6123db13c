import { loadRecordings, type Recording, recordingsAvailable } from "../../upstream/recordings.ts";
import { isEvidence } from "../cases.ts";
import { generateFormat } from "../generate/format.ts";
import { chunksOf } from "../generate/chunks.ts";
import { messagesFormat } from "../messages/format.ts";
import type { Json } from "../wire-json.ts";
import type { Said } from "./said.ts";
import { saidByClaude } from "./said-by-claude.ts";
import { saidByGemini } from "./said-by-gemini.ts";

/** A recorded answer of a provider whose wire is not chat completions, and what it says. */
export interface RecordedAnswer {
  readonly recording: Recording;
  readonly vendor: "claude" | "gemini";
  readonly stream: boolean;
  readonly said: Said;
  /** The chunks of Gemini's answer. */
  readonly chunks: readonly Json[];
}

/** A recorded answer that a chat client cannot have, and why. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

const FORMATS = { messages: messagesFormat, "generate-content": generateFormat } as const;

/** Every recorded good answer in the other two formats, sorted into those that are asked for and those left out. */
export function recordedAnswers(): { readonly answers: RecordedAnswer[]; readonly leftOut: LeftOut[] } {
  const answers: RecordedAnswer[] = [];
  const leftOut: LeftOut[] = [];
  if (!recordingsAvailable()) return { answers, leftOut };
  for (const recorded of ["messages", "generate-content", "cross-protocol"].flatMap(loadRecordings)) {
    const { protocol, response, path } = recorded;
    if ((protocol !== "messages" && protocol !== "generate-content") || response.status !== 200) continue;
    const unservable = FORMATS[protocol].unservable(recorded);
    const recording = FORMATS[protocol].served(recorded);
    const reason = !isEvidence(recorded)
      ? `not evidence: fidelity ${recorded.fidelity}`
      : unservable?.answerAlone === false
        ? unservable.reason
        : /"mimeType": ?"audio\//.test(JSON.stringify(recorded.response.body))
          ? "audio, which a chat request to such a model cannot ask for (modalities audio is a 400)"
          : undefined;
    if (reason === undefined) answers.push(answerOf(recording));
    else leftOut.push({ path, reason });
  }
  return { answers, leftOut };
}

/** Reads what a recording answers. */
export function answerOf(recording: Recording): RecordedAnswer {
  const body: Json = recording.response.body;
  const stream = typeof body === "string";
  const isClaude = recording.protocol === "messages";
  return {
    recording,
    vendor: isClaude ? "claude" : "gemini",
    stream,
    said: isClaude ? saidByClaude(body) : saidByGemini(body),
    chunks: isClaude ? [] : stream ? chunksOf(body) : [body],
  };
}
