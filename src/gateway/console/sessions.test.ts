import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import type { GatewayError } from "../../core/errors.ts";
import { systemRandom } from "../../core/random.ts";
import type { Database } from "../../db/schema.ts";
import type { Command } from "../../ledger/commands.ts";
import type { Writer } from "../../ledger/writer.ts";
import { openSessions, type SessionsParts } from "./sessions.ts";

/** Sessions over a store that has no row, or does not answer; what they write is noted. */
async function open(
  read: () => Promise<unknown>,
  keys: Partial<SessionsParts["keys"]> = {},
  hashed: (text: string) => void = () => undefined,
) {
  const query = { selectAll: () => query, where: () => query, executeTakeFirst: read };
  const written: Command[] = [];
  let reads = 0;
  const sessions = await openSessions({
    database: {
      selectFrom() {
        reads += 1;
        return query;
      },
    } as unknown as Database,
    writer: {
      submit: async (command: Command) => void written.push(command),
    } as unknown as Writer,
    keys: { authenticate: async () => "unknown", byId: async () => "unknown", ...keys },
    tokenHash(text) {
      hashed(text);
      return `hash of ${text}`;
    },
    adminTokenHash: "hash of adm",
    secretFor: (label) => label,
    clock: createFakeClock(),
    random: systemRandom,
    log: { info() {}, warn() {}, error() {} },
  });
  return { sessions, written, reads: () => reads };
}

const away = (): Promise<never> => Promise.reject(new Error("The store is away."));
const refusal = (promise: Promise<unknown>): Promise<GatewayError> =>
  promise.then(
    () => expect.unreachable(),
    (error: GatewayError) => error,
  );

test("a store that cannot be asked is a 503, never the end of a session or a wrong try", async () => {
  const { sessions } = await open(away, { authenticate: away });
  expect((await refusal(sessions.find("0".repeat(64)))).status).toBe(503);
  for (let i = 0; i < 30; i += 1) {
    const asked = { credential: "sk-x", address: "a", before: undefined };
    expect((await refusal(sessions.signIn(asked))).status).toBe(503);
  }
});

test("a cookie of another form is not asked for", async () => {
  const { sessions, reads } = await open(async () => undefined);
  for (const token of [undefined, "", "x", "0".repeat(63), "G".repeat(64)])
    expect((await refusal(sessions.find(token))).status).toBe(401);
  expect(reads()).toBe(0);
  expect((await refusal(sessions.find("0".repeat(64)))).code).toBe("session_ended");
  expect(reads()).toBe(1);
});

test("a wrong credential writes nothing", async () => {
  const { sessions, written } = await open(async () => undefined);
  const before = written.length;
  for (const credential of ["adm", "adm2", "sk-x"].slice(1))
    await refusal(sessions.signIn({ credential, address: "a", before: "0".repeat(64) }));
  expect(written.length).toBe(before);
});

test("a wrong credential costs the same work, whichever it is and however near to the admin token", async () => {
  const work: (readonly [what: string, text: string])[] = [];
  const authenticate = async (text: string) => {
    work.push(["authenticate", text]);
    return text.startsWith("sk-") ? ("unknown" as const) : ("malformed" as const);
  };
  const { sessions, written, reads } = await open(
    async () => undefined,
    { authenticate },
    (text) => work.push(["hash", text]),
  );
  const before = written.length;
  // The hash of the token is none: what is compared are hashes.
  for (const credential of ["a", "ad", "adn", "adm1", "zzz", "hash of adm", "sk-x", "x".repeat(512)]) {
    work.length = 0;
    const { status } = await refusal(sessions.signIn({ credential, address: credential, before: undefined }));
    expect(status).toBe(401);
    expect(work).toEqual([
      ["hash", credential],
      ["authenticate", credential],
    ]);
  }
  expect([written.length - before, reads()]).toEqual([0, 0]);
});
