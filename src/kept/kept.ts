import { describeError, type Log } from "../core/log/log.ts";
import type { Clock } from "../core/time/clock.ts";
import { createInterval } from "../core/time/interval.ts";
import type { FoundState, StateNames } from "../protocols/protocol.ts";
import { partsOf, type Round } from "../protocols/responses/kept.ts";
import { noSuchItem, noSuchResponse } from "../protocols/responses/not-kept.ts";
import type { Cipher } from "../runtime/cipher.ts";
import { createFinding } from "./finding.ts";
import { createSealing } from "./sealing.ts";
import type { ResponseSettings } from "./settings.ts";
import type { KeptStore } from "./tables.ts";

/** An answer to keep, and what was asked with it, as JSON texts. */
export interface NewAnswer {
  readonly account: string;
  /** The answer that it goes on from. */
  readonly previous: string | undefined;
  /** The items of its request alone. */
  readonly input: string;
  readonly response: string;
}

/**
 * Answers of Responses, and what was asked with them. Later requests of the same account can name them at every
 * process, from the moment that `keep` has resolved. Sealed where they are stored.
 */
export interface KeptResponses {
  /** Whether anything is kept now. */
  isOn(): boolean;
  /** Keeps an answer. Never rejects: an answer that is paid for goes out whatever the store says. */
  keep(answer: NewAnswer): Promise<void>;
  /** What a request names. Rejects with a 404 for an item, and a 400 for an answer, that is not there. */
  find(account: string, names: StateNames): Promise<FoundState>;
  /** The response object, as its client had it. */
  response(account: string, id: string): Promise<Uint8Array | undefined>;
  /** The answers up to this one, the oldest first, as far as they are there; none where this one is not. */
  rounds(account: string, id: string): Promise<readonly Round[]>;
  /** Deletes an answer; `false` where there is none. */
  remove(account: string, id: string): Promise<boolean>;
  /** Begins to delete what is kept no longer. */
  start(): void;
  close(): Promise<void>;
}

/** What answers are kept with. */
export interface KeptParts {
  readonly store: KeptStore;
  readonly cipher: Cipher;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: () => ResponseSettings;
}

const SWEEP_MS = 60_000;
const FIRST_SWEEP_MS = 10_000;

/** Opens the store for requests. */
export function createKeptResponses({ store, cipher, clock, log, settings }: KeptParts): KeptResponses {
  const sealing = createSealing(cipher);
  const finding = createFinding(store, sealing);
  const trim = createTrimming(store, () => settings().mostBytes);
  const isOn = (): boolean => settings().keptMs > 0;
  const sinceMs = (): number => clock.nowMs() - settings().keptMs;
  let closed = false;

  const keep = async ({ account, previous, input, response }: NewAnswer): Promise<void> => {
    const parts = partsOf(response);
    if (parts === undefined) return;
    const { id, items } = parts;
    const [sealedInput, output, frame] = await Promise.all([
      sealing.seal(account, id, "input", input),
      sealing.seal(account, id, "output", parts.output),
      sealing.seal(account, id, "frame", parts.frame),
    ]);
    const sealed = { input: sealedInput, output, frame };
    await store.keep({
      account,
      id,
      previous: previous ?? null,
      createdAtMs: clock.nowMs(),
      ...sealed,
      items,
    });
    await trim(account, sealedInput.length + output.length + frame.length);
  };

  const sweep = async (): Promise<void> => {
    try {
      while (!closed && (await store.sweep(sinceMs())));
    } catch (error) {
      log.error("kept answers whose time is over could not be deleted", { error: describeError(error) });
    }
  };
  const sweeping = createInterval(clock, SWEEP_MS, sweep);

  return {
    isOn,
    keep: (answer) =>
      keep(answer).catch((error: unknown) =>
        log.warn("an answer could not be kept", { account_id: answer.account, error: describeError(error) }),
      ),
    async find(account, names) {
      const { previous, items } = names;
      if (!isOn()) throw previous === undefined ? noSuchItem(items[0] ?? "") : noSuchResponse(previous);
      return finding.find(account, names, sinceMs());
    },
    response: async (account, id) => (isOn() ? finding.response(account, id, sinceMs()) : undefined),
    rounds: async (account, id) => (isOn() ? finding.rounds(account, id, sinceMs()) : []),
    remove: async (account, id) => (await store.remove(account, id, sinceMs())) && isOn(),
    start: () => sweeping.start(FIRST_SWEEP_MS),
    async close() {
      closed = true;
      await sweeping.close();
      await store.close();
    },
  };
}

/** Accounts whose bytes are counted here at a time. */
const MOST_COUNTED = 10_000;

/**
 * Called with the bytes that were kept of an account. Its oldest answers go before it has more than `mostBytes`. They
 * go an eighth at a time, as counting costs a read of its rows. Several processes may each let it have that eighth
 * more.
 */
function createTrimming(
  store: KeptStore,
  mostBytes: () => number,
): (account: string, bytes: number) => Promise<void> {
  /** Bytes that were kept of an account here since its oldest were last looked at. */
  const written = new Map<string, number>();
  return async (account, bytes) => {
    const most = mostBytes();
    const before = written.get(account);
    const since = (before ?? 0) + bytes;
    if (before !== undefined && since < most / 8) return void written.set(account, since);
    if (written.size >= MOST_COUNTED) written.clear();
    written.set(account, 0);
    await store.trim(account, Math.floor(most * (7 / 8)));
  };
}
