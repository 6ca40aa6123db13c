/** What an answer that is no success says beside its body. */
export interface Refusal {
  readonly status: number;
  readonly requestId: string | null;
  /** As `retry-after` has it. */
  readonly retryAfter: string | null;
}

/** As many reads as the gateway takes in one request. */
export const MOST_READS = 32;

/** How reads are made. */
interface Ways {
  /** How many reads may be one request now. */
  readonly most: () => number;
  /** Calls back once the present task is over. */
  readonly later: (flush: () => void) => void;
  readonly one: (address: string, signal: AbortSignal | undefined) => Promise<unknown>;
  /** The answer is lines of JSON, one for each read. */
  readonly several: (addresses: readonly string[], signal: AbortSignal) => Promise<Response>;
  /** The error of a read that is answered with no success. */
  readonly refused: (refusal: Refusal, body: string) => Error;
  /** The error of a read whose answer was cut off. */
  readonly cut: (cause: unknown) => Error;
}

/** Reads an address; rejects as `read` does. */
type Read = (address: string, signal: AbortSignal | undefined) => Promise<unknown>;

/** Reads that are gathered. */
interface GatheredReads {
  readonly read: Read;
  /** Sends those that wait now, before the present task is over. */
  readonly flush: () => void;
}

interface Waiting {
  readonly address: string;
  readonly signal: AbortSignal | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A line of the answer to several reads. */
interface Line {
  readonly index: number;
  readonly status: number;
  readonly request_id: string | null;
  readonly retry_after?: string;
  readonly body: unknown;
}

/**
 * Makes reads that begin in one task one request. A page begins up to fourteen, of which a browser sends six at a time.
 * Each read is answered once its line has come, whatever becomes of the others.
 */
export function gatherReads(ways: Ways): GatheredReads {
  let waiting: Waiting[] = [];
  const flush = (): void => {
    const reads = waiting.filter(({ signal }) => signal?.aborted !== true);
    waiting = [];
    const most = ways.most();
    for (let at = 0; at < reads.length; at += most) void ask(ways, reads.slice(at, at + most));
  };
  const read: Read = (address, signal) =>
    new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      waiting.push({ address, signal, resolve, reject });
      if (waiting.length === 1) ways.later(flush);
    });
  return { read, flush };
}

async function ask(ways: Ways, reads: readonly Waiting[]): Promise<void> {
  const [first] = reads;
  if (first === undefined) return;
  if (reads.length === 1) {
    ways.one(first.address, first.signal).then(first.resolve, first.reject);
    return;
  }
  // A read that has its answer is settled: a rejection changes nothing for it.
  const rejectOthers = (error: unknown): void => reads.forEach(({ reject }) => reject(error));
  const addresses = reads.map(({ address }) => address);
  const response = await ways.several(addresses, abortOfAll(reads)).catch(rejectOthers);
  if (response === undefined) return;
  try {
    for await (const text of linesOf(response)) {
      const line = JSON.parse(text) as Line;
      const read = reads[line.index];
      if (line.status < 400) read?.resolve(line.body);
      else read?.reject(ways.refused(refusalIn(line), JSON.stringify(line.body)));
    }
    rejectOthers(ways.cut(undefined));
  } catch (error) {
    rejectOthers(ways.cut(error));
  }
}

function refusalIn({ status, request_id, retry_after }: Line): Refusal {
  return { status, requestId: request_id, retryAfter: retry_after ?? null };
}

/** A signal that aborts once the callers have given up all of the reads. */
function abortOfAll(reads: readonly Waiting[]): AbortSignal {
  const controller = new AbortController();
  let open = reads.length;
  const close = (): void => {
    open -= 1;
    if (open === 0) controller.abort();
  };
  for (const { signal } of reads) signal?.addEventListener("abort", close, { once: true });
  return controller.signal;
}

async function* linesOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let begun: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // A line may come in many pieces: only the new one is looked through.
    const [first = "", ...others] = value.split("\n");
    begun.push(first);
    for (const next of others) {
      yield begun.join("");
      begun = [next];
    }
  }
}
