import { loadRecordings, type Recording } from "../upstream/recordings.ts";
import { type OwnRefusal, REFUSED_BY_US } from "./expected-refusal.ts";
import type { Json } from "./wire-json.ts";

/** What is replayed: an answer, an answer that is an error, or a refusal with a status of its own. */
export type CaseKind = "plain" | "stream" | "refusal";

/** One recording that is replayed through the gateway. */
export interface ReplayCase {
  readonly recording: Recording;
  readonly kind: CaseKind;
  /** The provider of the gateway's configuration that serves it. */
  readonly provider: string;
  readonly native: boolean;
  /** The recorded request's body. */
  readonly body: Json;
  /** The gateway's id of the recorded model. */
  readonly modelId: string;
  /** Set where this gateway must refuse the request itself. */
  readonly ownRefusal?: OwnRefusal;
}

/** A recording that is not replayed, and why. */
export interface Exclusion {
  readonly recording: Recording;
  readonly reason: string;
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

const EVIDENCE = new Set(["exact", "parsed", "sse_reconstructed", "ids_redacted"]);

/** Vendors whose members of a chunk are padding by their own documentation. */
export const PADDING: Readonly<Record<string, readonly string[]>> = {
  openai: ["obfuscation"],
  azure: ["obfuscation"],
  mistral: ["p"],
};

/** Selects what is replayed of a folder of recordings. */
export function selectCases(folder: string): Selection {
  const recordings = loadRecordings(folder);
  const cases: ReplayCase[] = [];
  const exclusions: Exclusion[] = [];
  for (const recording of recordings) {
    const reason = reasonAgainst(recording);
    if (reason === undefined) cases.push(caseOf(recording, REFUSED_BY_US[recording.path]));
    else exclusions.push({ recording, reason });
  }
  const unknown = exclusions.filter(({ reason }) => reason === REQUEST_UNKNOWN);
  const notAccepted = cases.filter(({ ownRefusal, kind }) => ownRefusal !== undefined && kind !== "refusal");
  const answersAlone = [...unknown, ...notAccepted].map(({ recording }) =>
    caseOf(withMadeUpRequest(recording)),
  );
  return { folder, files: recordings.length, cases, exclusions, answersAlone };
}

const REQUEST_UNKNOWN = "request unknown";

function withMadeUpRequest(recording: Recording): Recording {
  const body = {
    model: recording.model || "unknown",
    messages: [{ role: "user", content: "A request of our own making." }],
    ...(typeof recording.response.body === "string" ? { stream: true } : {}),
  };
  return { ...recording, request: { ...recording.request, body } };
}

function reasonAgainst(recording: Recording): string | undefined {
  if (recording.protocol !== "chat-completions") return `another protocol: ${recording.protocol}`;
  if (!EVIDENCE.has(recording.fidelity)) return `not evidence: fidelity ${recording.fidelity}`;
  if (typeof recording.request.body !== "object" || recording.request.body === null) return REQUEST_UNKNOWN;
  return undefined;
}

function caseOf(recording: Recording, ownRefusal?: OwnRefusal): ReplayCase {
  const body: Json = recording.request.body;
  const vendor = vendorOf(recording);
  return {
    recording,
    kind: kindOf(recording),
    provider: `${vendor}-replay`,
    native: vendor === "openai",
    body,
    modelId: modelIdOf(vendor, body),
    ...(ownRefusal === undefined ? {} : { ownRefusal }),
  };
}

/**
 * Who really answered. A few recordings are filed under the vendor whose address stood in the test, but the answer
 * is OpenRouter's: it names the provider that served it, and its reason in the model's own words.
 */
export function vendorOf(recording: Recording): string {
  if (recording.provider === "openai" && /"provider": ?"/.test(bodyText(recording))) return "openrouter";
  return recording.provider;
}

/** Where a recording stands apart from the folder it is filed in. */
export function isMisfiled(recording: Recording): boolean {
  return vendorOf(recording) !== recording.provider;
}

function bodyText({ response }: Recording): string {
  return typeof response.body === "string" ? response.body : JSON.stringify(response.body);
}

function kindOf({ response }: Recording): CaseKind {
  if (response.status >= 400) return "refusal";
  if (typeof response.body === "string") return "stream";
  const body: Json = response.body;
  return body.error === undefined ? "plain" : "refusal";
}

/** The field that bounds output is the model's, so a model that was asked both ways is two models here. */
function modelIdOf(vendor: string, body: Json): string {
  const field = boundField(body) === "max_tokens" ? "mt" : "mct";
  const name = String(body.model).replace(/[^a-zA-Z0-9._:-]/g, "-");
  return `${vendor}/${field}/${name.replace(/^[^a-zA-Z0-9]+/, "x")}`;
}

/** The field by which a request bounds its output. */
export function boundField(body: Json): "max_tokens" | "max_completion_tokens" {
  return "max_tokens" in body ? "max_tokens" : "max_completion_tokens";
}
