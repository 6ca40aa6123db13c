import { clientOf, installOf } from "../welcome/snippets.ts";
import type { Language } from "../welcome/search.ts";
import { type ChatBody, toGenerateContent, toMessages, toResponses, type Translated } from "./formats.ts";

/** Formats in which the same request can be sent. */
export const FORMATS = [
  { id: "chat", name: "OpenAI chat", sdk: "openai" },
  { id: "responses", name: "OpenAI Responses", sdk: "openai" },
  { id: "messages", name: "Anthropic messages", sdk: "anthropic" },
  { id: "generate", name: "Google generateContent", sdk: "google" },
] as const;

/** A format by its name here. */
export type FormatId = (typeof FORMATS)[number]["id"];

/** How a call is written. */
export type Tongue = "curl" | Language;

/** A request as it is copied: its code, what installs the SDK, and which parameters the format has no place for. */
export interface Copied {
  readonly code: string;
  readonly install: string | undefined;
  readonly leftOut: readonly string[];
}

/** A request of the playground as a call from elsewhere. `url`: the gateway's address, without a path. */
export function callOf(format: FormatId, tongue: Tongue, url: string, chat: ChatBody): Copied {
  const base = url.replace(/\/+$/, "");
  const { body, leftOut } = translated(format, chat);
  if (tongue === "curl")
    return {
      code: curlOf(`${base}/api/v1/${pathOf(format, chat.model)}`, body),
      install: undefined,
      leftOut,
    };
  const sdk = FORMATS.find(({ id }) => id === format)?.sdk ?? "openai";
  const code = `${clientOf(sdk, tongue, base)}\n${tongue === "python" ? pythonCall(format, chat, body) : typescriptCall(format, chat, body)}`;
  return {
    code: tongue === "python" && code.includes("base64.b64decode(") ? `import base64\n${code}` : code,
    install: installOf(sdk, tongue),
    leftOut,
  };
}

function translated(format: FormatId, chat: ChatBody): Translated {
  switch (format) {
    case "responses":
      return toResponses(chat);
    case "messages":
      return toMessages(chat);
    case "generate":
      return toGenerateContent(chat);
    case "chat": {
      const { stream: _, ...body } = chat;
      return { body, leftOut: [] };
    }
  }
}

function pathOf(format: FormatId, model: string): string {
  const paths = {
    chat: "chat/completions",
    responses: "responses",
    messages: "messages",
    generate: `models/${model}:generateContent`,
  };
  return paths[format];
}

function curlOf(address: string, body: object): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return `curl ${address} \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${quoted}'`;
}

function typescriptCall(format: FormatId, chat: ChatBody, body: object): string {
  const given = JSON.stringify(format === "generate" ? googleArguments(chat, body) : body, null, 2);
  const calls = {
    chat: `const answer = await client.chat.completions.create(${given});
console.log(answer.choices[0].message);`,
    responses: `const answer = await client.responses.create(${given});
console.log(answer.output_text);`,
    messages: `const message = await client.messages.create(${given});
console.log(message.content);`,
    generate: `const answer = await client.models.generateContent(${given});
console.log(answer.text);`,
  };
  return calls[format];
}

function pythonCall(format: FormatId, chat: ChatBody, body: object): string {
  const given = pythonArguments(
    format === "generate" ? googleArguments(chat, body) : format === "chat" ? withExtra(body) : body,
  );
  const calls = {
    chat: `answer = client.chat.completions.create(${given})
print(answer.choices[0].message)`,
    responses: `answer = client.responses.create(${given})
print(answer.output_text)`,
    messages: `message = client.messages.create(${given})
print(message.content)`,
    generate: `answer = client.models.generate_content(${given})
print(answer.text)`,
  };
  return calls[format];
}

/** Google's SDKs take the model beside the contents, and all else as a configuration. */
function googleArguments({ model }: ChatBody, body: object): object {
  const { contents, generationConfig, ...config } = body as Record<string, unknown>;
  const all = { ...config, ...(generationConfig as object | undefined) };
  return { model, contents, ...(Object.keys(all).length === 0 ? {} : { config: all }) };
}

/** Parameters that OpenAI's SDK for Python has no argument for. */
const EXTRA = new Set(["models", "reasoning", "thinking"]);

function withExtra(body: object): object {
  const entries = Object.entries(body);
  const extra = entries.filter(([name]) => EXTRA.has(name));
  const rest = Object.fromEntries(entries.filter(([name]) => !EXTRA.has(name)));
  return extra.length === 0 ? rest : { ...rest, extra_body: Object.fromEntries(extra) };
}

function pythonArguments(given: object): string {
  const lines = Object.entries(given).map(([name, value]) => `    ${name}=${pythonOf(value, "    ")},\n`);
  return `\n${lines.join("")}`;
}

/** A value of JSON as Python writes it. */
export function pythonOf(value: unknown, indent = ""): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((each) => `${deeper}${pythonOf(each, deeper)},\n`).join("")}${indent}]`;
  }
  const { inlineData } = value as { inlineData?: { mimeType: string; data: string } };
  // The SDK would take a text for the bytes themselves.
  if (inlineData !== undefined)
    return `types.Part.from_bytes(data=base64.b64decode("${inlineData.data}"), mime_type="${inlineData.mimeType}")`;
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  return `{\n${entries.map(([name, each]) => `${deeper}${JSON.stringify(name)}: ${pythonOf(each, deeper)},\n`).join("")}${indent}}`;
}
