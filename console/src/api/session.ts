import { type QueryClient, queryOptions } from "@tanstack/solid-query";
import { createSignal } from "solid-js";
import { ApiError, change, read, useCsrf } from "./client.ts";
import { forgetTab } from "./tab-memory.ts";

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

const [farewell, setFarewell] = createSignal<string>();

/** Why the last session of this visit has ended by itself. */
export const whyEnded = farewell;

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
  forgetTab();
  // What another session read is not this one's; its own entry stays, since the page watches it.
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
  queries.setQueryData(SESSION, session);
  setFarewell();
  tabs?.postMessage("another session");
  return session;
}

/** Tells the other tabs of this browser, which share the cookie, that it is another one. Tests have no tabs. */
const tabs = typeof document === "undefined" ? undefined : new BroadcastChannel("switchyard-session");

/** Takes over each session that another tab opens: this tab sends its cookie from then on. */
export function followTabs(queries: QueryClient): void {
  // A session that has ended meanwhile shows with the next call.
  tabs?.addEventListener("message", () => void takeOver(queries).catch(() => undefined));
}

async function takeOver(queries: QueryClient): Promise<void> {
  const before = queries.getQueryData(sessionQuery.queryKey);
  const session = kept(await read("/console/api/session"));
  queries.setQueryData(SESSION, session);
  setFarewell();
  if (before?.role === session.role && before.key?.id === session.key?.id) return;
  forgetTab();
  // Pages that the new session may not open have left by then, and read nothing more.
  await new Promise((resolve) => setTimeout(resolve));
  await queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
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
  forgetSession(queries);
}

/** The gateway knows the session no more; `why` it has ended by itself. */
export function forgetSession(queries: QueryClient, why?: string): void {
  forgetTab();
  setStay();
  // A reader who was not signed in needs no reason.
  if (queries.getQueryData(SESSION)) setFarewell(why);
  queries.setQueryData(SESSION, null);
}

function kept(session: Session): Session {
  useCsrf(session.csrf);
  return session;
}
