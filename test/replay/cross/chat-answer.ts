import { expect } from "bun:test";
import { costOf, type CountedTokens, type Tokens } from "../charge.ts";
import { generateTokens, searchesOf } from "../generate/tokens.ts";
import { messagesTokens } from "../messages/tokens.ts";
import type { Json } from "../wire-json.ts";
import { PIECES, PRICES } from "./cross-gateway.ts";
import { piecesOf, type Said, type SaidChoice, textOf } from "./said.ts";

/**
 * Fails unless a choice, as the SDK read it, is all that the provider said in one. The SDK's helper does not join
 * `reasoning_content` of several chunks, so it is looked at where it is joined.
 */
export function expectChoice(choice: Json, said: SaidChoice, format: string): void {
  const { pieces } = said;
  const { message } = choice;
  const content: string = message.content ?? "";
  if (pieces.some(({ kind }) => kind === "code")) expectInOrder(content, said);
  else expect(content).toBe(textOf(pieces, "text"));
  expect((message.tool_calls ?? []).map(callOf)).toEqual(
    piecesOf(pieces, "call").map(({ id, name, args, signature }) => ({
      id: id === "" ? expect.stringMatching(/^\S+$/) : id,
      type: "function",
      name,
      args,
      signature,
    })),
  );
  expect((message.images ?? []).map(imageOf)).toEqual(
    piecesOf(pieces, "image").map(({ mime, data, signature }) => ({ mime, data, signature })),
  );
  expectDetails(message.reasoning_details ?? [], said, format);
  expect(choice.finish_reason).toBe(said.finish);
  const links = (message.annotations ?? []).map(({ url_citation: { url } }: Json) => url);
  expect(new Set(links)).toEqual(new Set(said.cited));
}

function callOf({ id, type, function: called, extra_content: extra }: Json): Json {
  const signature = extra?.google?.thought_signature ?? "";
  return { id, type, name: called.name, args: JSON.parse(called.arguments), signature };
}

/** A data URI taken apart as the reference of data URIs has it; the signature is in base64url without padding. */
function imageOf({ type, image_url: { url } }: Json): Json {
  expect(type).toBe("image_url");
  const [, mime, parameter = "", data] = /^data:([^;,]+)(?:;thought_signature=([\w-]*))?;base64,(.*)$/s.exec(
    url,
  ) as unknown as string[];
  const padded = parameter.replaceAll("-", "+").replaceAll("_", "/");
  return { mime, data, signature: padded + "=".repeat((4 - (padded.length % 4)) % 4) };
}

/** Every thought once and whole, in order, each at its place among the pieces. */
function expectDetails(details: readonly Json[], { pieces }: SaidChoice, format: string): void {
  const wanted = pieces.flatMap((piece): Json[] => {
    if (piece.kind === "thinking") return [{ thinking: piece.text, signature: piece.signature }];
    if (piece.kind === "redacted") return [{ thinking: "", signature: `redacted:${piece.data}` }];
    return piece.kind === "signature" ? [{ thinking: "", signature: piece.signature }] : [];
  });
  expect(details.map(({ thinking, signature = "" }) => ({ thinking, signature }))).toEqual(wanted);
  for (const detail of details) expect([detail.type, detail.format]).toEqual(["thinking", format]);
  const indexes: number[] = details.map(({ index }) => index);
  expect(indexes).toEqual([...new Set(indexes)].toSorted((a, b) => a - b));
}

function expectInOrder(content: string, { pieces }: SaidChoice): void {
  let from = 0;
  for (const piece of pieces) {
    if (piece.kind !== "text" && piece.kind !== "code") continue;
    const at = content.indexOf(piece.text, from);
    expect([piece.text, at >= from]).toEqual([piece.text, true]);
    from = at + piece.text.length;
  }
}

/** The provider's usage in disjoint buckets; undefined where it told none that counts its output. */
export function countedOf(
  { format, usage, choices }: Said,
  chunks: readonly Json[],
): CountedTokens | undefined {
  if (usage === undefined) return undefined;
  if (format === "anthropic-claude-v1") return messagesTokens(usage);
  const counted = { ...generateTokens(usage), webSearches: searchesOf(chunks) };
  const says = choices.some(({ pieces }) => pieces.length > 0);
  return says && usage.totalTokenCount === usage.promptTokenCount ? undefined : counted;
}

/** Fails unless usage and charge are what the provider counted. */
export function expectUsage(answer: Json, counted: CountedTokens | undefined, charged: number): void {
  const { usage } = answer;
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  if (counted === undefined) {
    expect(charged).toBeGreaterThan(0);
    return;
  }
  expect(usage).toEqual(usageOf(counted.tokens));
  expect(BigInt(charged)).toBe(costOf(counted, PRICES, PIECES));
}

function usageOf(tokens: Tokens): Json {
  const written = tokens.cache_write_5m + tokens.cache_write_1h;
  const prompt = tokens.input + tokens.cache_read + written + tokens.audio_input + tokens.image_input;
  const completion = tokens.output + tokens.reasoning + tokens.audio_output + tokens.image_output;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: tokens.cache_read,
      cache_write_tokens: written,
      audio_tokens: tokens.audio_input,
      ...(tokens.image_input === 0 ? {} : { image_tokens: tokens.image_input }),
    },
    completion_tokens_details: {
      reasoning_tokens: tokens.reasoning,
      audio_tokens: tokens.audio_output,
      ...(tokens.image_output === 0 ? {} : { image_tokens: tokens.image_output }),
    },
  };
}
