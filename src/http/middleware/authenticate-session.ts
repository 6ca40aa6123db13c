import type { Caller } from "../../core/caller.ts";
import { forOperators, ownAdmin, ownOperations, ownTasks } from "../../gateway/console/own-admin.ts";
import type { Session } from "../../gateway/console/sessions.ts";
import { checkCsrf, checkOrigin, isUse, mayChange, tokenIn } from "../console/guard.ts";
import type { EdgeServices, Route } from "../route.ts";

/** What a session admits to. */
export interface Admitted {
  readonly session: Session;
  /** The holder of the key that calls are charged to; a developer's own on every route. */
  readonly caller: Caller | undefined;
  /** The services as the session may use them. */
  readonly services: EdgeServices;
}

/** Access by a session of the console. */
export type SessionAccess = Exclude<Route["access"], "public" | "key" | "admin">;

/** Whether a route takes a session; every other route takes none. */
export function takesSession(access: Route["access"]): access is SessionAccess {
  return access === "session" || access === "operator" || access === "play";
}

/**
 * The one place that checks sessions. Rejects with a 401 without a live one. Rejects with a 403 for another origin or
 * token on a call that may change something, and for what only operators may do.
 */
export async function authenticateSession(
  services: EdgeServices,
  access: SessionAccess,
  request: Request,
): Promise<Admitted> {
  const changes = mayChange(request);
  if (changes) checkOrigin(request, services.publicUrl());
  const { sessions, playground } = services.web;
  const session = await sessions.find(tokenIn(request), isUse(request));
  const { caller } = session;
  if (caller !== undefined && access === "operator") throw forOperators();
  if (changes) checkCsrf(request, session);
  if (caller !== undefined) return { session, caller, services: ownServices(services, caller) };
  return { session, caller: access === "play" ? await playground.caller() : undefined, services };
}

function ownServices(services: EdgeServices, caller: Caller): EdgeServices {
  const admin = ownAdmin(services.admin, caller);
  const operations = ownOperations(services.operations, caller);
  const tasks = ownTasks(services.media.tasks, caller);
  return { ...services, admin, operations, media: { ...services.media, tasks } };
}
