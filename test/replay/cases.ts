import { loadRecordings, type Recording } from "../upstream/recordings.ts";
import { type OwnRefusal, REFUSED_BY_US } from "./expected-refusal.ts";
import type { CaseKind, RecordedRequest, ReplayCase, ReplayFormat } from "./format.ts";
import { formatOf } from "./formats.ts";
import { vendorOf } from "./vendors.ts";
import type { Json } from "./wire-json.ts";

/** A recording that is not replayed, and why. */
export interface Exclusion {
  readonly recording: Recording;
  readonly reason: string;
  /** Whether its answer is replayed to a request of our own making. */
  readonly answerAlone: boolean;
}

/** Recordings of one folder, sorted: every one is in exactly one of the two lists. */
export interface Selection {
  readonly folder: string;
  readonly files: number;
  readonly cases: readonly ReplayCase[];
  readonly exclusions: readonly Exclusion[];
  /**
   * Recordings whose answer is replayed to a made-up request, because their own is not known or not accepted. They
   * are evidence for answers and charges only, and do not count as held.
   */
  readonly answersAlone: readonly ReplayCase[];
}

/** Fidelities of what a provider really said; in the last a body was put around the words of an error. */
const EVIDENCE = new Set(["exact", "parsed", "sse_reconstructed", "ids_redacted", "error_text"]);

/** Whether a recording is what a provider really sent. */
export function isEvidence({ fidelity }: Recording): boolean {
  return EVIDENCE.has(fidelity);
}

/** Selects what is replayed of a folder of recordings. */
export function selectCases(folder: string): Selection {
  const recordings = loadRecordings(folder);
  const cases: ReplayCase[] = [];
  const exclusions: Exclusion[] = [];
  const answersAlone: ReplayCase[] = [];
  for (const recording of recordings) {
    const excluded = exclusionOf(recording);
    const format = formatOf(recording.protocol);
    const refusal =
      excluded === undefined
        ? (REFUSED_BY_US[recording.path] ?? format?.refusedByUs?.(recording.request.body))
        : undefined;
    if (excluded !== undefined) exclusions.push(excluded);
    else if (format !== undefined) cases.push(caseOf(recording, format, format.request(recording), refusal));
    const alone = excluded?.answerAlone ?? refusal !== undefined;
    if (alone && format !== undefined) answersAlone.push(caseOf(recording, format, format.madeUp(recording)));
  }
  return { folder, files: recordings.length, cases, exclusions, answersAlone };
}

function exclusionOf(recording: Recording): Exclusion | undefined {
  const because = (reason: string, answerAlone = false): Exclusion => ({ recording, reason, answerAlone });
  const format = formatOf(recording.protocol);
  if (format === undefined) return because(`another protocol: ${recording.protocol}`);
  if (!isEvidence(recording)) return because(`not evidence: fidelity ${recording.fidelity}`);
  const unservable = format.unservable(recording);
  if (unservable !== undefined) return because(unservable.reason, unservable.answerAlone);
  if (typeof recording.request.body !== "object" || recording.request.body === null)
    return because("request unknown", true);
  return undefined;
}

function caseOf(
  recorded: Recording,
  format: ReplayFormat,
  { body, stream, upstreamId }: RecordedRequest,
  ownRefusal?: OwnRefusal,
): ReplayCase {
  const recording = format.served(recorded);
  const vendor = vendorOf(recording);
  const name = upstreamId.replace(/[^a-zA-Z0-9._:-]/g, "-").replace(/^[^a-zA-Z0-9]+/, "x");
  return {
    recording,
    format,
    kind: kindOf(recording, format),
    provider: `${vendor}-${format.setting.replaceAll("_", "-")}`,
    native: format.isNative(vendor),
    reframed: recording !== recorded,
    body,
    stream,
    upstreamId,
    modelId: `${vendor}/${format.modelKind(body).name}/${name}`,
    ...(ownRefusal === undefined ? {} : { ownRefusal }),
  };
}

function kindOf({ response }: Recording, format: ReplayFormat): CaseKind {
  if (response.status >= 400) return "refusal";
  if (typeof response.body === "string")
    return format.failsAtOnce?.(response.body) === true ? "refusal" : "stream";
  const body: Json = response.body;
  return body.error === undefined || body.error === null ? "plain" : "refusal";
}
