import { exampleOf } from "../../lists/example-model.ts";
import { type Language, type SnippetId, SNIPPETS } from "./search.ts";

/** What a snippet is made of. */
export interface Call {
  /** Where the gateway is reached, without a path. */
  readonly url: string;
  readonly model: string;
}

const PROMPT = "Say hello.";

/** A first call, as it is pasted. It reads the key from `SWITCHYARD_KEY`. */
export function snippetOf(id: SnippetId, language: Language, { url, model }: Call): string {
  const base = url.replace(/\/+$/, "");
  if (id === "curl") return curl(base, model);
  return `${clientOf(id, language, base)}\n${CALLS[language][id](model)}`;
}

/** What installs the SDK of a snippet; `undefined` where nothing has to be. */
export function installOf(id: SnippetId, language: Language): string | undefined {
  if (id === "curl") return undefined;
  const names = {
    openai: { typescript: "openai", python: "openai" },
    anthropic: { typescript: "@anthropic-ai/sdk", python: "anthropic" },
    google: { typescript: "@google/genai", python: "google-genai" },
  }[id];
  return language === "python" ? `pip install ${names.python}` : `npm install ${names.typescript}`;
}

/** The line that gives a shell the key. */
export function exportLine(key: string): string {
  return `export SWITCHYARD_KEY=${key}`;
}

function curl(base: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: PROMPT }] });
  return `curl ${base}/api/v1/chat/completions \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}

/** The lines of a program that make an SDK's client, by the gateway's address without a path. */
export function clientOf(sdk: Exclude<SnippetId, "curl">, language: Language, base: string): string {
  return CLIENTS[language][sdk](base);
}

const CLIENTS = {
  typescript: {
    openai: (base: string) => `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${base}/api/v1",
  apiKey: process.env.SWITCHYARD_KEY,
});`,
    anthropic: (base: string) => `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${base}/api",
  apiKey: process.env.SWITCHYARD_KEY,
});`,
    google: (base: string) => `import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({
  apiKey: process.env.SWITCHYARD_KEY,
  httpOptions: { baseUrl: "${base}/api", apiVersion: "v1" },
});`,
  },
  python: {
    openai: (base: string) => `import os
from openai import OpenAI

client = OpenAI(
    base_url="${base}/api/v1",
    api_key=os.environ["SWITCHYARD_KEY"],
)`,
    anthropic: (base: string) => `import os
from anthropic import Anthropic

client = Anthropic(
    base_url="${base}/api",
    api_key=os.environ["SWITCHYARD_KEY"],
)`,
    google: (base: string) => `import os
from google import genai
from google.genai import types

client = genai.Client(
    api_key=os.environ["SWITCHYARD_KEY"],
    http_options=types.HttpOptions(base_url="${base}/api", api_version="v1"),
)`,
  },
};

const CALLS = {
  typescript: {
    openai: (model: string) => `const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "${PROMPT}" }],
});
console.log(answer.choices[0].message.content);`,
    anthropic: (model: string) => `const message = await client.messages.create({
  model: "${model}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "${PROMPT}" }],
});
for (const block of message.content) if (block.type === "text") console.log(block.text);`,
    google: (model: string) => `const answer = await client.models.generateContent({
  model: "${model}",
  contents: "${PROMPT}",
});
console.log(answer.text);`,
  },
  python: {
    openai: (model: string) => `answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "${PROMPT}"}],
)
print(answer.choices[0].message.content)`,
    anthropic: (model: string) => `message = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "${PROMPT}"}],
)
print("".join(block.text for block in message.content if block.type == "text"))`,
    google: (model: string) => `answer = client.models.generate_content(
    model="${model}",
    contents="${PROMPT}",
)
print(answer.text)`,
  },
};

/** A model, as far as the choice of one for a first call needs it. */
export interface Choosable {
  readonly id: string;
  readonly category: string;
  readonly vendor: string;
  readonly output_modalities: readonly string[];
}

/** The models that a first call may name: those that answer in text alone. */
export function callable<Model extends Choosable>(models: readonly Model[]): readonly Model[] {
  return models.filter(
    ({ category, output_modalities }) => category === "language" && output_modalities.join() === "text",
  );
}

/** The model of a snippet where the reader has named none, of the snippet's own vendor where that one is served. */
export function modelFor(id: SnippetId, models: readonly Choosable[], example: string): string | undefined {
  const vendor = SNIPPETS.find((snippet) => snippet.id === id)?.vendor;
  const own = models.filter((model) => model.vendor === vendor);
  return exampleOf(own.length > 0 ? own : models, example)?.id;
}
