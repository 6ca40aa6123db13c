import type { Caller } from "../../core/caller.ts";
import { GatewayError } from "../../core/errors.ts";
import { describeError, type Log } from "../../core/log/log.ts";
import type { Random } from "../../core/random.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Database, SessionsTable } from "../../db/schema.ts";
import type { Keys } from "../../keys/keys.ts";
import type { OpenSession } from "../../ledger/commands.ts";
import type { Writer } from "../../ledger/writer.ts";
import { createTries, type Tries } from "../../limits/tries.ts";
import { createKeyedHash, isSameText } from "../../runtime/hash.ts";
import { keyFaultError } from "../auth-error.ts";
import { readStore } from "../store-read.ts";

/** A session of the console. */
export interface Session {
  readonly role: "operator" | "developer";
  /** The holder of the key that a developer signed in with. */
  readonly caller: Caller | undefined;
  /** What a call that changes something must show besides the cookie. */
  readonly csrf: string;
  /** When it ends, however much it is used. */
  readonly expiresAtMs: number;
}

/** A session that was just opened, and the text of its cookie. */
export interface OpenedSession {
  readonly token: string;
  readonly session: Session;
}

/** A sign-in. */
export interface SignIn {
  /** The admin token or an API key. */
  readonly credential: string;
  /** The address that wrong tries are counted for. */
  readonly address: string;
  /** The cookie of an earlier session of this browser, which ends. */
  readonly before: string | undefined;
}

/** Sessions of the console. */
export interface Sessions {
  /** Opens a session. Rejects with a 401 for a wrong credential, and with a 429 for too many of them. */
  signIn(asked: SignIn): Promise<OpenedSession>;
  /**
   * The live session of a cookie. Rejects with a 401 that says why there is none. `isUse`: whether the call keeps the
   * session from ending for want of use; polls of a page whose reader is away do not.
   */
  find(token: string | undefined, isUse?: boolean): Promise<Session>;
  /** Ends a session in every process: at once in this one, within five seconds in others. */
  end(token: string): Promise<void>;
}

/** What sessions are made of. */
export interface SessionsParts {
  readonly database: Database;
  readonly writer: Writer;
  readonly keys: Pick<Keys, "authenticate" | "byId">;
  /** The keyed hash of a token. */
  readonly tokenHash: (token: string) => string;
  /** That of the admin token in force. */
  readonly adminTokenHash: string;
  /** A secret for one use, the same in every process on the store. */
  readonly secretFor: (label: string) => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A session ends when it was not used for this long, */
const IDLE_MS = 30 * 60 * 1000;

/** and this long after it was opened. */
export const LIFETIME_MS = 12 * 60 * 60 * 1000;

/** What was read of a session is trusted for this long: how late an end elsewhere is seen. */
const TRUST_MS = 4_000;

/** The store is told that a session is used this often. */
const SEEN_MS = 60_000;

/** Sessions remembered at once; beyond it the oldest entry is dropped. */
const MAX_REMEMBERED = 1_000;

const TOKEN = /^[0-9a-f]{64}$/;

interface Remembered {
  readonly row: Pick<SessionsTable, "token_hash" | "key_id" | "created_at_ms">;
  /** By the steady clock. */
  untilMs: number;
  /** Used last, as far as this process knows, */
  usedAtMs: number;
  /** and as the store was told. */
  toldAtMs: number;
}

/**
 * Sessions over the store, by a keyed hash of their cookie: who reads the store cannot take one over. A session of a
 * key lives no longer than the key. One of an operator lives no longer than the admin token that it was opened with.
 * Resolves when those that are over have been deleted.
 */
export async function openSessions(parts: SessionsParts): Promise<Sessions> {
  const sessions = new StoredSessions(parts);
  await sessions.forgetOld();
  return sessions;
}

class StoredSessions implements Sessions {
  readonly #parts: SessionsParts;
  readonly #tries: Tries;
  readonly #idOf: (token: string) => string;
  readonly #csrfOf: (token: string) => string;
  readonly #remembered = new Map<string, Remembered>();
  /** Counts ends: what was read before one must not be remembered after it. */
  #ends = 0;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#tries = createTries(parts.clock);
    this.#idOf = createKeyedHash(parts.secretFor("console sessions 1"));
    this.#csrfOf = createKeyedHash(parts.secretFor("console csrf 1"));
  }

  async signIn({ credential, address, before }: SignIn): Promise<OpenedSession> {
    const { clock, random, writer } = this.#parts;
    const opener = await this.#openerOf(credential);
    if (opener instanceof GatewayError) {
      const waitSec = this.#tries.wrong(address);
      throw waitSec === undefined ? opener : tooManyTries(waitSec);
    }
    if (before !== undefined) await this.end(before);
    await this.forgetOld();
    const token = random.bytes(32).toHex();
    const [session, nowMs] = [this.#idOf(token), clock.nowMs()];
    await writer.submit({ kind: "open_session", session, opener, nowMs });
    return { token, session: await this.find(token) };
  }

  async find(token: string | undefined, isUse = true): Promise<Session> {
    if (token === undefined) throw noSession("session_missing", "This request has no session: sign in.");
    const id = this.#idOf(token);
    const known = await this.#lookUp(token, id);
    if (known === undefined) throw ended();
    const { clock, adminTokenHash } = this.#parts;
    const nowMs = clock.nowMs();
    const expiresAtMs = Number(known.row.created_at_ms) + LIFETIME_MS;
    const { key_id, token_hash } = known.row;
    if (nowMs >= expiresAtMs || nowMs - known.usedAtMs >= IDLE_MS) throw await this.#over(token, ended());
    const caller = key_id === null ? undefined : await readStore(this.#parts.keys.byId(key_id));
    if (typeof caller === "string") throw await this.#over(token, keyFaultError(caller));
    if (caller === undefined && token_hash !== adminTokenHash) throw await this.#over(token, ended());
    if (isUse) this.#use(known, id, nowMs);
    const role = caller === undefined ? "operator" : "developer";
    return { role, caller, csrf: this.#csrfOf(token), expiresAtMs };
  }

  async end(token: string): Promise<void> {
    const session = this.#idOf(token);
    this.#ends += 1;
    this.#remembered.delete(session);
    await this.#parts.writer.submit({ kind: "end_session", session });
  }

  async forgetOld(): Promise<void> {
    const { writer, clock, adminTokenHash: tokenHash } = this.#parts;
    const nowMs = clock.nowMs();
    const [openedByMs, usedByMs] = [nowMs - LIFETIME_MS, nowMs - IDLE_MS];
    await writer.submit({ kind: "forget_sessions", openedByMs, usedByMs, tokenHash });
  }

  /** Who signs in with a credential, or the 401. A text costs the same whichever of the two it is not. */
  async #openerOf(credential: string): Promise<OpenSession["opener"] | GatewayError> {
    const { tokenHash, adminTokenHash, keys } = this.#parts;
    const hash = tokenHash(credential);
    if (isSameText(hash, adminTokenHash)) return { tokenHash: hash };
    const found = await readStore(keys.authenticate(credential));
    if (typeof found !== "string") return { keyId: found.keyId };
    return found === "malformed" ? notOurs() : keyFaultError(found);
  }

  /** What is known of a session, from the store where that was read too long ago. */
  async #lookUp(token: string, id: string): Promise<Remembered | undefined> {
    const before = this.#remembered.get(id);
    const { database, clock } = this.#parts;
    if (before !== undefined && clock.steadyMs() < before.untilMs) return before;
    if (!TOKEN.test(token)) return undefined;
    const ends = this.#ends;
    const untilMs = clock.steadyMs() + TRUST_MS;
    const row = await readStore(
      database.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst(),
    );
    this.#remembered.delete(id);
    if (row === undefined) return undefined;
    const toldAtMs = Number(row.seen_at_ms);
    const now = { row, untilMs, toldAtMs, usedAtMs: Math.max(toldAtMs, before?.usedAtMs ?? 0) };
    if (ends === this.#ends) this.#remembered.set(id, now);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MAX_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return now;
  }

  #use(known: Remembered, session: string, nowMs: number): void {
    known.usedAtMs = nowMs;
    if (nowMs - known.toldAtMs < SEEN_MS) return;
    known.toldAtMs = nowMs;
    const { writer, log } = this.#parts;
    writer
      .submit({ kind: "see_session", session, nowMs })
      .catch((error: unknown) =>
        log.warn("the use of a console session could not be noted", { error: describeError(error) }),
      );
  }

  /** Ends a session that is over by itself. A store that takes nothing now deletes it at the next sign-in. */
  async #over(token: string, why: GatewayError): Promise<GatewayError> {
    await this.end(token).catch(() => undefined);
    return why;
  }
}

function noSession(code: string, message: string): GatewayError {
  return new GatewayError("auth_error", message, { code });
}

function ended(): GatewayError {
  return noSession("session_ended", "This session has ended: sign in again.");
}

function notOurs(): GatewayError {
  const words = "This is neither the admin token of this gateway nor an API key by its form.";
  return noSession("credential_unknown", words);
}

function tooManyTries(retryAfterSec: number): GatewayError {
  const words = "There were too many wrong tries from this address. Wait, then try again.";
  return new GatewayError("rate_limit_error", words, { retryAfterSec });
}
