import { describe, expect, test } from "bun:test";
import { buildModel, createCatalog } from "../catalog/catalog.ts";
import { nameRules } from "../catalog/name-rules.ts";
import type { Caller } from "../core/caller.ts";
import { GatewayError } from "../core/errors.ts";
import { type Model, LISTED_PROTOCOLS, type ListedProtocolId } from "../core/model.ts";
import { mediaModels } from "../../test/gateway/media-offer.ts";
import { type Endpoint, findModel } from "./find-model.ts";

function model(
  id: string,
  providers: readonly string[],
  supportedProtocols: readonly ListedProtocolId[] = ["compat_chat_completions"],
): Model {
  const routes = providers.map((provider) => ({ provider, upstreamId: `at-${provider}` }));
  return buildModel(id, "language", { prices: { input: 1, output: 1 } }, { supportedProtocols, routes });
}

const CHAT = "compat_chat_completions";
const GPT = model("openai/gpt-one", ["openai", "openrouter"]);
const CLAUDE = model("anthropic/claude-one", ["anthropic", "openrouter"], [CHAT, "compat_messages"]);
const GEMINI = model("google/gemini-one", ["google"], [CHAT, "compat_generate_content"]);
const DEAD = model("xai/grok-one", ["xai", "anthropic", "openrouter", "elsewhere"], [...LISTED_PROTOCOLS]);
const OURS = model("local/gpt-one", ["elsewhere"]);
const SONG = { ...GPT, id: "suno/song", category: "audio" as const };
const media = (id: string, category: string): Model => {
  const found = mediaModels.find((row) => row.id === id && row.category === category);
  if (found === undefined) throw new Error(`There is no ${id}.`);
  return found;
};
const PAINTER = media("openai/gpt-image-2", "image");
const WAN = media("alibaba/wan-2.6", "video");

const enabled = [GPT, CLAUDE, GEMINI, OURS, PAINTER, WAN, SONG];
const catalog = createCatalog(enabled, {
  known: [...enabled, DEAD],
  aliases: new Map([["fast", CLAUDE.id]]),
  rules: nameRules(["latest"], [["gpt-zero", GPT.id]]),
});

const caller = (...ids: readonly string[]): Caller => ({ keyId: "k", accountId: "a", models: new Set(ids) });
const ANYONE: Caller = { keyId: "k", accountId: "a", models: null };

/** What a request is told that names a model so. */
function refusalOf(name: string, endpoint: Endpoint = CHAT, by: Caller = ANYONE) {
  try {
    findModel(catalog, by, name, endpoint);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, type, param, code, message, operatorHint } = error;
    expect([status, type, param]).toEqual([400, "invalid_request_error", "model"]);
    return { code, message, ...(operatorHint === undefined ? {} : { operatorHint }) };
  }
  throw new Error(`${name} was found.`);
}

const LISTED = "GET /api/v1/models lists those that this key may use.";

describe("a model is found", () => {
  test("by its id and by other spellings without a word, by an alias with a warning that says what serves", () => {
    const found = (name: string) => findModel(catalog, ANYONE, name, CHAT);
    for (const name of [CLAUDE.id, "claude-one", "at-anthropic", "claude-one-latest", "models/claude-one"])
      expect(found(name)).toEqual({ model: CLAUDE, warnings: [] });
    const warnings = [`model: the name is an alias, and ${CLAUDE.id} serves.`];
    expect(found("fast")).toEqual({ model: CLAUDE, warnings });
    expect(found("gpt-zero-latest")).toEqual({
      model: GPT,
      warnings: [`model: the name is an alias, and ${GPT.id} serves.`],
    });
  });

  test("at each endpoint that serves it", () => {
    const at = (name: string, endpoint: Endpoint) => findModel(catalog, ANYONE, name, endpoint).model;
    expect(at("claude-one", "compat_messages")).toBe(CLAUDE);
    expect(at("gemini-one", "compat_generate_content")).toBe(GEMINI);
    expect(at("gpt-image-2", "image")).toBe(PAINTER);
    expect(at("wan2.6-t2v", "video")).toBe(WAN);
  });

  test("by a key that may use it, whatever name of it is sent", () => {
    for (const name of ["fast", "claude-one", "at-anthropic"])
      expect(findModel(catalog, caller(CLAUDE.id), name, CHAT).model).toBe(CLAUDE);
  });
});

describe("a name that is nobody's", () => {
  const code = "model_not_found";

  test("is told of with the names most like it", () => {
    expect(refusalOf("claud-one")).toEqual({
      code,
      message: `There is no model "claud-one". Did you mean ${CLAUDE.id}? ${LISTED}`,
    });
    expect(refusalOf("Google/Gemini-One").message).toContain(`Did you mean ${GEMINI.id}?`);
    expect(refusalOf("gpt").message).toContain(`Did you mean ${GPT.id} or ${OURS.id}?`);
    expect(refusalOf("gpt-one-mini").message).toContain(`Did you mean ${GPT.id} or ${OURS.id}?`);
    expect(refusalOf("llama-3")).toEqual({ code, message: `There is no model "llama-3". ${LISTED}` });
  });

  test("with three of them at the most, the nearest first", () => {
    const models = ["v/abcdefgh", "v/abcdefxx", "v/abcdefgx", "v/abcdexgx", "v/abcdexxx"].map((id) =>
      model(id, ["p"]),
    );
    expect(() => findModel(createCatalog(models), ANYONE, "abcdefgg", CHAT)).toThrow(
      "Did you mean v/abcdefgh, v/abcdefgx or v/abcdefxx?",
    );
  });

  test("with those only that this key may use, at this endpoint, once each", () => {
    expect(refusalOf("gpt-on", CHAT, caller(OURS.id)).message).toContain(`Did you mean ${OURS.id}?`);
    expect(refusalOf("gpt-on", CHAT, caller(CLAUDE.id)).message).not.toContain("Did you mean");
    expect(refusalOf("gpt-on", "compat_messages").message).not.toContain("gpt-one");
    expect(refusalOf("gpt-imag-2", "image").message).toContain(`Did you mean ${PAINTER.id}?`);
    expect(refusalOf("grok-on").message).not.toContain(DEAD.id);
  });

  test("is shown cut, and compared with none where it is like no name at all", () => {
    expect(refusalOf("x".repeat(100_000))).toEqual({
      code,
      message: `There is no model "${"x".repeat(100)}". ${LISTED}`,
    });
    // It has a name in it, but is not compared any more.
    expect(refusalOf(`${"x".repeat(58)}gpt-one`).message).not.toContain("Did you mean");
    expect(refusalOf(`${"x".repeat(57)}gpt-one`).message).toContain(`Did you mean ${GPT.id} or ${OURS.id}?`);
    expect(refusalOf("").message).toBe(`There is no model "". ${LISTED}`);
    expect(refusalOf('a"\r\nb').message).toStartWith('There is no model "a\\"\\r\\nb".');
  });
});

test("a name that two have is told of with both", () => {
  expect(refusalOf("gpt-one")).toEqual({
    code: "model_ambiguous",
    message: `The name "gpt-one" could be ${GPT.id} or ${OURS.id}. Say which of them is meant.`,
  });
});

test("a model that is served elsewhere is told of with where", () => {
  const code = "model_not_served_here";
  expect(refusalOf("claude-one", "compat_generate_content")).toEqual({
    code,
    message: `The model ${CLAUDE.id} is not served at /api/v1/models/anthropic%2Fclaude-one:generateContent. It is served at /api/v1/chat/completions and /api/v1/messages.`,
  });
  expect(refusalOf(PAINTER.id).message).toEndWith("It is served at /api/v1/images/generations.");
  expect(refusalOf(WAN.id, "image").message).toEndWith("It is served at /api/v1/videos.");
  expect(refusalOf(GPT.id, "video").message).toEndWith("It is served at /api/v1/chat/completions.");
});

describe("a model that the key may not use is told of as that, served or not,", () => {
  const told = (id: string, endpoint: Endpoint, ...allowed: readonly string[]) => {
    const { code, message } = refusalOf(id, endpoint, caller(...allowed));
    expect(code).toBe("model_not_allowed");
    expect(message).toStartWith(`This API key may not use the model ${id}. `);
    return message.slice(`This API key may not use the model ${id}. `.length);
  };

  test("with those that it may use at this endpoint, the first three where there are more", () => {
    for (const { id } of [CLAUDE, DEAD, WAN])
      expect(told(id, CHAT, GPT.id, PAINTER.id)).toBe(`It may use ${GPT.id}.`);
    expect(told(DEAD.id, CHAT, GPT.id, GEMINI.id, CLAUDE.id)).toBe(
      `It may use ${GPT.id}, ${CLAUDE.id} and ${GEMINI.id}.`,
    );
    expect(told(DEAD.id, CHAT, GPT.id, GEMINI.id, CLAUDE.id, OURS.id)).toBe(
      `Among others it may use ${GPT.id}, ${CLAUDE.id} and ${GEMINI.id}.`,
    );
    expect(told(DEAD.id, "image", GPT.id, PAINTER.id)).toBe(`It may use ${PAINTER.id}.`);
  });

  test("with where they are listed, if it may use none there", () => {
    expect(told(CLAUDE.id, CHAT, WAN.id, DEAD.id)).toBe(LISTED);
    expect(refusalOf("fast", CHAT, caller()).message).toEndWith(LISTED);
  });
});

describe("a model that no live provider serves", () => {
  const message = (id: string) =>
    `No provider that serves the model ${id} is set up here. GET /api/v1/models lists the models that are served.`;

  test("is told of as that, and the log of what the operator must set for this endpoint, or for any", () => {
    const told = (variables: string) => ({
      code: "no_live_provider",
      message: message(DEAD.id),
      operatorHint: `Set ${variables} to have ${DEAD.id} served, then start anew.`,
    });
    expect(refusalOf(DEAD.id)).toEqual(told("ANTHROPIC_API_KEY, OPENROUTER_API_KEY or XAI_API_KEY"));
    expect(refusalOf(DEAD.id, "compat_messages")).toEqual(
      told("ANTHROPIC_API_KEY, OPENROUTER_API_KEY or XAI_API_KEY"),
    );
    expect(refusalOf(DEAD.id, "image")).toEqual(told("ANTHROPIC_API_KEY, OPENROUTER_API_KEY or XAI_API_KEY"));
  });

  test("nor is it served at any endpoint that there is: the same", () =>
    expect(refusalOf(SONG.id)).toMatchObject({ code: "no_live_provider" }));
});
