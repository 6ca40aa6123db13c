/** The moments of a request, in Unix seconds. */
export interface Moments {
  readonly outcome: string;
  readonly admitted_at: number;
  readonly held_at: number;
  readonly first_byte_at: number | null;
  readonly ended_at: number;
  readonly settled_at: number;
  readonly attempts: readonly {
    readonly provider: string;
    readonly sent_at: number;
    readonly status: number | null;
  }[];
}

/** A stretch of a request's life. */
export interface Phase {
  readonly name: string;
  readonly kind: "gateway" | "failed" | "waiting" | "answer";
  /** In milliseconds since the request was admitted. */
  readonly startMs: number;
  readonly ms: number;
}

/** Outcomes by which the last attempt did not fail, also without a first byte: tasks have none. */
const UNFAILED: ReadonlySet<string> = new Set(["completed", "client_gone", "cancelled"]);

/** The phases of a request, in their order; they touch, and together are its whole life. */
export function phasesOf(request: Moments): readonly Phase[] {
  const { outcome, admitted_at, held_at, first_byte_at, ended_at, settled_at, attempts } = request;
  const at = (seconds: number): number => Math.round((seconds - admitted_at) * 1_000);
  const phase = (name: string, kind: Phase["kind"], from: number, to: number): Phase => ({
    name,
    kind,
    startMs: at(from),
    ms: Math.max(0, at(to) - at(from)),
  });
  const answered = first_byte_at ?? ended_at;
  const sent = attempts[0]?.sent_at;
  const calls = attempts.map(({ provider, sent_at }, i) => {
    const next = attempts[i + 1]?.sent_at;
    const name = attempts.length === 1 ? `Wait for ${provider}` : `Attempt ${i + 1}: ${provider}`;
    const failed = next !== undefined || (first_byte_at === null && !UNFAILED.has(outcome));
    return phase(name, failed ? "failed" : "waiting", sent_at, next ?? answered);
  });
  return [
    phase("Check and hold", "gateway", admitted_at, held_at),
    ...(sent === undefined
      ? [phase("Work", "waiting", held_at, answered)]
      : [phase("Prepare", "gateway", held_at, sent), ...calls]),
    ...(first_byte_at === null ? [] : [phase("Answer", "answer", first_byte_at, ended_at)]),
    phase("Settle", "gateway", ended_at, settled_at),
  ];
}

/** How long each attempt took: until the next one, the first byte, or the end. */
export function attemptMs({ attempts, first_byte_at, ended_at }: Moments): readonly number[] {
  return attempts.map(({ sent_at }, i) =>
    Math.max(0, Math.round(((attempts[i + 1]?.sent_at ?? first_byte_at ?? ended_at) - sent_at) * 1_000)),
  );
}
