import type { Recording } from "../upstream/recordings.ts";
import type { Selection } from "./cases.ts";
import { isMisfiled, vendorOf } from "./vendors.ts";

/** How each replayed recording came out. */
export interface Outcome {
  readonly recording: Recording;
  /** `held`: all that is promised was seen; `refused`: the gateway itself refuses the request, as it must. */
  readonly result: "held" | "refused" | "failed";
  readonly note?: string;
}

/** What else a replay counts. */
export interface Counts {
  /** Recordings whose answer held with a made-up request. */
  readonly answered: readonly Recording[];
  /** Recordings by format whose usage was found again bucket for bucket, and charged at the price of each. */
  readonly counted: ReadonlyMap<string, ReadonlySet<string>>;
  readonly repairs: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** The tables of a replay: `provider: N of M` by folder, then why the rest is not among N. */
export function tableOf(
  selections: readonly Selection[],
  outcomes: readonly Outcome[],
  { answered, counted, repairs }: Counts,
): string {
  const lines: string[] = [];
  for (const selection of selections) lines.push(...folderLines(selection, outcomes));
  const alone = selections.flatMap(({ answersAlone }) => answersAlone);
  lines.push(
    "",
    `Answers alone, to a made-up request (not counted above): ${answered.length} of ${alone.length}`,
    "",
    "Recorded usage that is in the row of its request bucket for bucket, and charged at the price of each:",
    ...[...counted].map(([protocol, paths]) => `  ${protocol}: ${paths.size}`),
    "",
    "What the held recordings show (recordings):",
    ...shownBy(outcomes),
    "",
    "Repairs that acted, by vendor (recordings):",
  );
  for (const [vendor, names] of [...repairs].toSorted(byName)) {
    lines.push(`  ${vendor}: ${[...names].map(([name, count]) => `${name} ${count}`).join(", ")}`);
  }
  return lines.join("\n");
}

/** What must not be lost on the way, by the features that the recordings are filed with. */
const SHOWN = [
  "stream",
  "thinking",
  "thinking_request",
  "signature",
  "signature_roundtrip",
  "encrypted_reasoning",
  "redacted_thinking",
  "reasoning_content",
  "cache_tokens",
  "cache_control",
  "citations",
  "server_tools",
  "server_tool_use",
  "tool_calls",
  "parallel_tool_calls",
  "tool_result",
  "structured_output",
  "image_input",
  "pdf_input",
  "audio_input",
  "video_input",
  "image_output",
  "audio_output",
  "n_gt_1",
  "logprobs",
  "refusal",
];

function shownBy(outcomes: readonly Outcome[]): readonly string[] {
  const held = outcomes.filter(({ result }) => result === "held");
  return SHOWN.map(
    (feature) =>
      `  ${feature}: ${held.filter(({ recording }) => recording.features.includes(feature)).length}`,
  );
}

function folderLines(
  { folder, files, cases, exclusions }: Selection,
  outcomes: readonly Outcome[],
): string[] {
  const mine = outcomes.filter(({ recording }) => recording.path.startsWith(`${folder}/`));
  const all = [...cases, ...exclusions].map(({ recording }) => recording);
  const providers = [...new Set(all.map(({ provider }) => provider))].sort();
  const count = (result: Outcome["result"]): number =>
    mine.filter((outcome) => outcome.result === result).length;
  const lines = ["", `${folder}: ${count("held")} of ${files}`];
  lines.push(
    `  of the ${mine.length} whose request is known: ${count("held")} held, ${count("refused")} refused by us as they must be, ${count("failed")} failed`,
  );
  for (const provider of providers) {
    const held = mine.filter(
      ({ recording, result }) => recording.provider === provider && result === "held",
    ).length;
    lines.push(
      `  ${provider}: ${held} of ${all.filter((recording) => recording.provider === provider).length}`,
    );
  }
  lines.push("  Not held:");
  for (const { recording, result, note } of mine) {
    if (result === "refused")
      lines.push(`    ${recording.path}: answered by the gateway itself: 400, ${note}`);
    if (result === "failed") lines.push(`    ${recording.path}: FAILED`);
  }
  const reasons = Map.groupBy(exclusions, ({ reason }) => reason);
  for (const [reason, excluded] of [...reasons].toSorted(byName)) {
    lines.push(`    ${reason}: ${excluded.length}`);
    if (!reason.startsWith("another protocol"))
      for (const { recording } of excluded) lines.push(`      ${recording.path}`);
  }
  const misfiled = all.filter(isMisfiled);
  if (misfiled.length > 0) lines.push("  Served as what they are:");
  for (const recording of misfiled)
    lines.push(`    ${recording.path}: filed under ${recording.provider}, is ${vendorOf(recording)}`);
  const reframed = cases.filter((found) => found.reframed);
  if (reframed.length > 0) lines.push("  Recorded as one array, played as the events that are asked for:");
  for (const { recording } of reframed) lines.push(`    ${recording.path}`);
  return lines;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
