import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../core/errors.ts";
import type { Session } from "../../gateway/console/sessions.ts";
import type { EdgeServices } from "../route.ts";
import { authenticateSession, type SessionAccess, takesSession } from "./authenticate-session.ts";

const CALLER = { keyId: "key_1", accountId: "acc_1", models: null };
const PLAYED = { keyId: "key_play", accountId: "acc_1", models: null };

/** Services with one session, of an operator or of the holder of a key, and what they were asked. */
function createServices(caller?: Session["caller"]) {
  const found: (readonly [token: string | undefined, isUse: boolean])[] = [];
  const session: Session = {
    role: caller === undefined ? "operator" : "developer",
    caller,
    csrf: "shown",
    expiresAtMs: 1,
  };
  const services = {
    publicUrl: () => "http://gateway",
    web: {
      sessions: {
        async find(token: string | undefined, isUse: boolean) {
          found.push([token, isUse]);
          return session;
        },
      },
      playground: { caller: async () => PLAYED },
    },
    admin: { accounts: async () => "all accounts" },
    operations: { key: async (id: string) => `the key ${id}` },
    media: { tasks: { name: "tasks" } },
  } as unknown as EdgeServices;
  return { services, session, found };
}

const OURS = { origin: "http://gateway", "x-csrf-token": "shown", cookie: "switchyard_console=text" };

const ask = (
  services: EdgeServices,
  access: SessionAccess,
  init: { readonly method?: string; readonly headers?: Record<string, string> } = {},
) => authenticateSession(services, access, new Request("http://gateway/", { headers: OURS, ...init }));

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "admitted",
    ({ kind, code }: GatewayError) => `${kind} ${code}`,
  );

test("routes of sessions, of operators and of the playground take a session, and no other", () => {
  const routes = ["session", "operator", "play", "public", "key", "admin"] as const;
  expect(routes.filter(takesSession)).toEqual(["session", "operator", "play"]);
});

describe("an operator", () => {
  test("has all services, and a caller in the playground alone", async () => {
    const { services, session, found } = createServices();
    expect(await ask(services, "session")).toEqual({ session, caller: undefined, services });
    expect(await ask(services, "operator")).toEqual({ session, caller: undefined, services });
    expect(await ask(services, "play")).toEqual({ session, caller: PLAYED, services });
    expect(found[0]).toEqual(["text", true]);
  });
});

describe("the holder of a key", () => {
  test("is the caller everywhere, and has the services for that key alone", async () => {
    const { services, session } = createServices(CALLER);
    for (const access of ["session", "play"] as const) {
      const admitted = await ask(services, access);
      expect([admitted.session, admitted.caller]).toEqual([session, CALLER]);
      expect(await codeOf(admitted.services.operations.key("key_2"))).toStartWith("not_found_error");
      expect(admitted.services.media.tasks).not.toBe(services.media.tasks);
      expect(admitted.services.admin).not.toBe(services.admin);
    }
  });

  test("has no route of operators", async () => {
    const { services } = createServices(CALLER);
    expect(await codeOf(ask(services, "operator"))).toStartWith("permission_error");
  });
});

describe("a call that may change something", () => {
  test("is refused from another page, before its session is looked up", async () => {
    const { services, found } = createServices();
    const headers = { ...OURS, origin: "http://elsewhere" };
    expect(await codeOf(ask(services, "session", { method: "POST", headers }))).toBe(
      "permission_error origin_refused",
    );
    expect(found).toEqual([]);
    expect(await codeOf(ask(services, "session", { headers }))).toBe("admitted");
  });

  test("is refused without what a page of the session shows", async () => {
    for (const caller of [undefined, CALLER]) {
      const { services } = createServices(caller);
      const headers = { ...OURS, "x-csrf-token": "other" };
      expect(await codeOf(ask(services, "session", { method: "POST", headers }))).toBe(
        "permission_error csrf_refused",
      );
      expect(await codeOf(ask(services, "session", { headers }))).toBe("admitted");
      expect(await codeOf(ask(services, "session", { method: "POST" }))).toBe("admitted");
    }
  });
});
