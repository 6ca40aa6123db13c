import { type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { objectOf, textOf } from "../members.ts";
import { type AskedTool, joined, refuse, type ToolWish } from "./ask.ts";
import { base64In, canBeFollowed, isBase64 } from "./given-media.ts";

// What chat completions and Responses have in common.

/** What the content of a message says in words. */
export function contentText(content: unknown): string {
  return typeof content === "string" ? content : joined(objectsIn(content).map(({ text }) => text));
}

/** A tool that takes text, as one that takes it as its only member. Of grammars only regular expressions are kept to. */
export function customTool(name: unknown, grammar: unknown): AskedTool {
  const { syntax, definition } = objectOf(grammar);
  const input = { type: "string", ...(syntax === "regex" ? { pattern: definition } : {}) };
  const schema = { type: "object", properties: { input }, required: ["input"] };
  return { name: textOf(name), schema, isText: true };
}

interface ToolChoice {
  readonly wish: ToolWish;
  /** The only tools that may be called. */
  readonly among?: ReadonlySet<string>;
}

/** Of `tool_choice` or `function_call`. What chat completions say of tools in it `isNested` one level deeper. */
export function readChoice(choice: unknown, isNested: boolean): ToolChoice {
  if (choice === "none") return { wish: "none" };
  if (choice === "required") return { wish: "any" };
  const said = objectOf(choice);
  const allowed = isNested ? said.allowed_tools : said.type === "allowed_tools" ? said : undefined;
  const name = nameIn(said, isNested) ?? said.name;
  if (typeof name === "string" && (isNested || allowed === undefined)) return { wish: { name } };
  if (allowed === undefined) return { wish: "auto" };
  const { mode, tools } = objectOf(allowed);
  const among = new Set(objectsIn(tools).map((tool) => textOf(nameIn(tool, isNested))));
  return { wish: mode === "required" ? "any" : "auto", among };
}

function nameIn({ function: called, custom, name }: JsonObject, isNested: boolean): unknown {
  return isNested ? objectOf(called ?? custom).name : name;
}

/** Refuses a link that cannot be followed, `shown` in their sentence, and a data URL without base64. */
export function checkUrl(url: string, name: string, param: string, shown = `the ${name}`): void {
  if (!canBeFollowed(url)) refuse(`Error while downloading ${shown}.`, param);
  if (/^data:/i.test(url) && !isBase64(base64In(url) ?? "")) refuse(`Invalid base64 ${name}.`, param);
}

/** Refuses a file that is neither base64 nor a data URL of it. */
export function checkFile(file: unknown, param: string): void {
  if (file !== undefined && !isBase64(base64In(textOf(file)) ?? textOf(file)))
    refuse("Invalid file data: expected base64-encoded data.", param);
}

/** Refuses audio that is not base64. */
export function checkAudio(data: unknown, param: string): void {
  if (!isBase64(textOf(data))) refuse("Invalid base64 input_audio.", param);
}
