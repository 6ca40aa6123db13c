import { Type } from "typebox";
import { GatewayError } from "../../core/errors.ts";
import { EXAMPLE_MODEL } from "../../core/example-model.ts";
import { LIFETIME_MS, type Session } from "../../gateway/console/sessions.ts";
import { checkOrigin, cookieHeader, tokenIn } from "../console/guard.ts";
import { respondJson } from "../respond.ts";
import type { EdgeServices, Route, RouteContext } from "../route.ts";
import { bodyOf } from "./admin/body.ts";

const SignInSchema = Type.Object(
  { credential: Type.String({ minLength: 1, maxLength: 512, description: "The admin token or an API key" }) },
  { additionalProperties: false },
);

/** A sign-in is read before anything is known of its client. */
const MAX_SIGN_IN_BYTES = 4096;

const Named = { id: Type.String(), name: Type.String() };

const SessionSchema = Type.Object(
  {
    role: Type.Enum(["operator", "developer"]),
    csrf: Type.String({ description: "For x-csrf-token of calls that change something" }),
    expires_at: Type.Number({
      description: "Unix time in seconds; 30 minutes without an attended call end it earlier",
    }),
    account: Type.Union([Type.Object(Named), Type.Null()], { description: "A developer's" }),
    key: Type.Union([Type.Object({ ...Named, hint: Type.String() }), Type.Null()], {
      description: "That a developer signed in with",
    }),
    version: Type.String(),
    sandbox: Type.Boolean({ description: "The sandbox serves models" }),
    public_url: Type.String(),
    example_model: Type.String({
      description: "The model that a first call names, where the session may use it",
    }),
  },
  { title: "ConsoleSession" },
);

const PlaygroundSchema = Type.Object(
  {
    account_id: Type.String(),
    key_id: Type.String(),
    budget: Type.Union([Type.Number(), Type.Null()], { description: "Credits that it may spend in all" }),
    spent: Type.Number({ description: "Credits that it has spent" }),
  },
  { title: "Playground" },
);

const ChoiceSchema = Type.Object(
  {
    account_id: Type.String(),
    budget: Type.Union([Type.Number(), Type.Null()], {
      description: "Credits that may be spent in all; null for no bound of its own",
    }),
  },
  { additionalProperties: false },
);

const readSignIn = bodyOf(SignInSchema);
const readChoice = bodyOf(ChoiceSchema);

/** Sessions of the console, and what operators' calls in its playground are charged to. */
export const consoleRoutes: readonly Route[] = [
  {
    method: "post",
    path: "/console/api/session",
    access: "public",
    summary: "Sign in with the admin token or an API key; the cookie of the answer is the session",
    tag: "console",
    body: SignInSchema,
    answers: { 200: { description: "The session, anew at every sign-in", schema: SessionSchema } },
    errors: [400, 401, 403, 429, 503],
    handle: signIn,
  },
  {
    method: "get",
    path: "/console/api/session",
    access: "session",
    summary: "The session of the cookie",
    tag: "console",
    answers: { 200: { description: "It is live", schema: SessionSchema } },
    errors: [],
    handle: async ({ services, session }) => respondJson(await viewOf(services, liveSession(session))),
  },
  {
    method: "delete",
    path: "/console/api/session",
    access: "session",
    summary: "Sign out",
    tag: "console",
    answers: {
      200: { description: "It has ended everywhere", schema: Type.Object({ ended: Type.Literal(true) }) },
    },
    errors: [],
    async handle({ services, request }) {
      await services.web.sessions.end(tokenIn(request) ?? "");
      return respondJson({ ended: true }, 200, cookie(services, undefined));
    },
  },
  {
    method: "get",
    path: "/console/api/playground",
    access: "operator",
    summary: "What operators' calls below /console/api/play are charged to",
    tag: "console",
    answers: {
      200: { description: "Null until it is chosen", schema: Type.Union([PlaygroundSchema, Type.Null()]) },
    },
    errors: [],
    handle: async ({ services }) => respondJson(await services.web.playground.chosen()),
  },
  {
    method: "put",
    path: "/console/api/playground",
    access: "operator",
    summary: "Choose the account and the budget; its key `playground` is made at the first choice",
    tag: "console",
    body: ChoiceSchema,
    answers: { 200: { description: "As it now is", schema: PlaygroundSchema } },
    errors: [400, 404],
    async handle(context) {
      const { account_id, budget } = await readChoice(context);
      return respondJson(await context.services.web.playground.choose(account_id, budget));
    },
  },
];

async function signIn(context: RouteContext): Promise<Response> {
  const { services, request } = context;
  checkOrigin(request, services.publicUrl());
  const length = Number(request.headers.get("content-length") ?? Infinity);
  if (length > MAX_SIGN_IN_BYTES)
    throw new GatewayError("input_too_large", `A sign-in has at most ${MAX_SIGN_IN_BYTES} bytes.`);
  const { credential } = await readSignIn(context);
  const { token, session } = await services.web.sessions.signIn({
    credential: credential.trim(),
    address: context.address(),
    before: tokenIn(request),
  });
  context.note({ session: session.role });
  return respondJson(await viewOf(services, session), 200, cookie(services, token));
}

function cookie({ publicUrl }: EdgeServices, token: string | undefined): Record<string, string> {
  return { "set-cookie": cookieHeader(token, LIFETIME_MS, publicUrl()) };
}

function liveSession(session: Session | undefined): Session {
  if (session === undefined) throw new Error("The route was reached without a session.");
  return session;
}

async function viewOf(services: EdgeServices, { role, csrf, expiresAtMs, caller }: Session): Promise<object> {
  const owner = caller === undefined ? undefined : await services.web.owner(caller.keyId);
  return {
    role,
    csrf,
    expires_at: expiresAtMs / 1000,
    account: owner?.account ?? null,
    key: owner?.key ?? null,
    version: services.version,
    sandbox: services.web.hasSandbox(),
    public_url: services.publicUrl(),
    example_model: EXAMPLE_MODEL,
  };
}
