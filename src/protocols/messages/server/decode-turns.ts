import type { Part, ToolResultPart, Turn } from "../../../core/chat.ts";
import { createListFacts, createMadeOnce, isKept, keepList } from "../../../core/json/kept.ts";
import { markedResult } from "../../call-results.ts";
import { wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import { innerBlocks } from "../blocks.ts";
import type { MessagesRequest } from "../request.ts";
import type { ContentBlock, MessagesInput } from "../schema.ts";
import { type AnswerReading, decodeAnswer } from "./decode-answer.ts";
import { cacheOf, decodeBlock, decodeContent } from "./decode-blocks.ts";
import { openExactInputs } from "./exact-inputs.ts";
import { ownId } from "../../wire-ids.ts";

type Message = MessagesInput["messages"][number];

/** The turns that a list of messages began with, behind what the system said then. */
interface Begun {
  readonly system: Turn | undefined;
  /** With those that followed them then. */
  readonly turns: readonly Turn[];
  readonly count: number;
}

const keptTurns = createListFacts<Begun>();

/**
 * What the system says and the messages as turns, in their order. The results in one message are one turn, before what
 * the user says beside them. `tell` receives what is left out. Throws a 400 that names the block for what no other
 * format can say.
 */
export function decodeTurns({ body, json, carrier }: MessagesRequest, tell: Warn): readonly Turn[] {
  const { messages } = body;
  let hasTold = false;
  const warn: Warn = (sentence) => {
    hasTold = true;
    tell(sentence);
  };
  const system = decodeSystem(body, warn);
  const known = keptTurns.of(messages);
  const begun = known !== undefined && isSameTurn(known.fact.system, system) ? known : undefined;
  const turns: Turn[] = begun === undefined ? [] : begun.fact.turns.slice(0, begun.fact.count);
  if (begun === undefined && system !== undefined) turns.push(system);
  const reading: AnswerReading = { inputs: openExactInputs(json), carrier, warn };
  for (let i = begun?.count ?? 0; i < messages.length; i += 1) {
    const message = messages[i] as Message;
    const before = turns.length;
    addTurns(turns, message, i, reading);
    if (turns.length === before) warn(`messages[${i}] was left out: there is nothing in it`);
    // What is told is told of each request.
    if (!hasTold) keptTurns.add(messages, i + 1, () => ({ system, turns, count: turns.length }));
  }
  if (turns.every(({ role }) => role === "system") && messages.every(({ role }) => role !== "system"))
    throw wrong("messages", "must have one that is not empty");
  if (isKept(messages)) keepList(turns, begun && { list: begun.fact.turns, count: begun.fact.count });
  return turns;
}

function addTurns(turns: Turn[], { role, content }: Message, i: number, reading: AnswerReading): void {
  const path = `messages[${i}].content`;
  if (role === "assistant") addTurn(turns, role, decodeAnswer(content, i, reading));
  else if (role === "system" || typeof content === "string")
    addTurn(turns, role, decodeContent(content, path, reading.warn));
  else {
    const results: Part[] = [];
    const said: Part[] = [];
    for (const [at, block] of content.entries()) {
      const place = `${path}[${at}]`;
      if (block.type === "tool_result") results.push(decodeResult(block, place, reading.warn));
      else for (const part of decodeBlock(block, place, reading.warn)) said.push(part);
    }
    addTurn(turns, "tool", results);
    addTurn(turns, "user", said);
  }
}

function addTurn(turns: Turn[], role: Turn["role"], parts: readonly Part[]): void {
  if (parts.length > 0) turns.push({ role, parts });
}

function decodeResult(block: ContentBlock, path: string, warn: Warn): ToolResultPart {
  const { tool_use_id: id, content, is_error: isError } = block;
  const inner = typeof content === "string" ? content : (innerBlocks(block) ?? []);
  const parts = decodeContent(inner, `${path}.content`, warn);
  return markedResult(ownId(id ?? ""), parts, cacheOf(block), isError === true);
}

const keptSystems = createMadeOnce<readonly ContentBlock[], Turn>();

function decodeSystem({ system = [] }: MessagesInput, warn: Warn): Turn | undefined {
  const known = typeof system === "string" ? undefined : keptSystems.get(system);
  if (known !== undefined) return known;
  const parts = decodeContent(system, "system", warn);
  const other = parts.findIndex(({ type }) => type !== "text");
  if (other !== -1) throw wrong("system", "must have blocks of type text only");
  if (parts.length === 0) return undefined;
  const turn: Turn = { role: "system", parts };
  return typeof system === "string" ? turn : keptSystems.add(system, turn);
}

/** Whether two turns are the same one, or say the same in one text. */
function isSameTurn(a: Turn | undefined, b: Turn | undefined): boolean {
  if (a === b) return true;
  const [[one, ...more] = [], [other, ...others] = []] = [a?.parts, b?.parts];
  if (one?.type !== "text" || other?.type !== "text" || more.length + others.length > 0) return false;
  return one.text === other.text && one.cache === undefined && other.cache === undefined;
}
