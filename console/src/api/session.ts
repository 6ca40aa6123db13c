import { type QueryClient, queryOptions } from "@tanstack/solid-query";
import { createSignal } from "solid-js";
import { ApiError, change, read, useCsrf } from "./client.ts";
import { clearTab, forgetTab } from "./tab-memory.ts";

/** Who is signed in, as the gateway says it. */
export interface Session {
  readonly role: "operator" | "developer";
  readonly csrf: string;
  readonly expires_at: number;
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly key: { readonly id: string; readonly name: string; readonly hint: string } | null;
  readonly version: string;
  readonly sandbox: boolean;
  readonly public_url: string;
  /** The model that a first call names, where the session may use it. */
  readonly example_model: string;
}

/** Which session something is kept for: no secret, and another one at every sign-in and for every build. */
export function sessionName({ role, key, expires_at, version }: Omit<Session, "csrf">): string {
  return [role, key?.id ?? "", expires_at, version].join(" ");
}

const SESSION = ["session"] as const;

/** Who reads: pages and what was typed in them are one reader's, over all sessions of it. */
export function readerOf({ role, account, key }: Pick<Session, "role" | "account" | "key">): string {
  return [role, account?.id ?? "", key?.id ?? ""].join(" ");
}

const [ended, setEnded] = createSignal<{ readonly csrf: string; readonly why: string }>();

/** Why a session has ended by itself; absent: it has not. */
export function whyEnded({ csrf }: Pick<Session, "csrf">): string | undefined {
  const last = ended();
  return last?.csrf === csrf ? last.why : undefined;
}

const [live, setLive] = createSignal<string>();

/** The name of the session that is live, as `sessionName` gives it. */
export const liveSession = live;

/** The present session; `null` where nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: SESSION,
  staleTime: Infinity,
  async queryFn(): Promise<Session | null> {
    try {
      return kept(await read("/console/api/session"));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },
});

/** Whether an operator is known to be signed in. */
export function isOperatorIn(queries: QueryClient): boolean {
  return queries.getQueryData(sessionQuery.queryKey)?.role === "operator";
}

/** Signs in with the admin token or an API key. */
export async function signIn(queries: QueryClient, credential: string): Promise<Session> {
  const session = kept(await change("post", "/console/api/session", { body: { credential } }));
  begin(queries, session);
  tabs?.postMessage("another session");
  return session;
}

/** Takes a session for the present one. What another reader has read and typed is dropped before. */
function begin(queries: QueryClient, session: Session): void {
  const before = queries.getQueryData(sessionQuery.queryKey);
  if (!before || readerOf(before) !== readerOf(session)) {
    forgetTab();
    // The session's own entry stays, since the page watches it.
    queries.removeQueries({ predicate: isOfSession });
  } else for (const resume of waiting) resume();
  waiting.clear();
  queries.setQueryData(SESSION, session);
}

const waiting = new Set<() => void>();

/** Resolves once the reader whose session has ended has signed in again; never where another one has. */
export function signedInAgain(): Promise<void> {
  return new Promise((resolve) => void waiting.add(resolve));
}

/** Whether a query is one that a session reads, and not the session itself. */
export function isOfSession({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean {
  return queryKey[0] !== SESSION[0];
}

/** Tells the other tabs of this browser, which share the cookie, that it is another one. Tests have no tabs. */
const tabs = typeof document === "undefined" ? undefined : new BroadcastChannel("switchyard-session");

/** Takes over each session that another tab opens: this tab sends its cookie from then on. */
export function followTabs(queries: QueryClient): void {
  // A session that has ended meanwhile shows with the next call.
  tabs?.addEventListener("message", () => void takeOver(queries).catch(() => undefined));
}

async function takeOver(queries: QueryClient): Promise<void> {
  begin(queries, kept(await read("/console/api/session")));
}

const [stay, setStay] = createSignal<string>();

/** Why the last try to sign out failed; absent: it did not, or the reader has closed the note. */
export const whySignedIn = stay;

/** Takes the note about a failed sign-out away. */
export function closeSignOutNote(): void {
  setStay();
}

/** Ends the session, here and on the gateway. Where the gateway did not end it, `whySignedIn` says so. */
export async function signOut(queries: QueryClient): Promise<void> {
  setStay();
  try {
    await change("delete", "/console/api/session");
  } catch (error) {
    // With a 401 it had ended before.
    if (!(error instanceof ApiError && error.status === 401)) {
      setStay(error instanceof Error ? error.message : String(error));
      return;
    }
  }
  forgetTab();
  setLive();
  queries.setQueryData(SESSION, null);
}

/**
 * The gateway knows the session no more, and says why. The pages wait for the same reader to sign in again. What the
 * browser's storage has of them goes, since anybody at the machine can read it.
 */
export function endSession(queries: QueryClient, why: string): void {
  const session = queries.getQueryData(sessionQuery.queryKey);
  // A wrong sign-in is refused as well, and ends nothing.
  if (!session || whyEnded(session) !== undefined) return;
  setStay();
  setLive();
  clearTab();
  setEnded({ csrf: session.csrf, why });
}

function kept(session: Session): Session {
  useCsrf(session.csrf);
  setLive(sessionName(session));
  return session;
}
