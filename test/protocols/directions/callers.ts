import type { ProtocolId } from "../../../src/core/model.ts";
import type { Json } from "../chat-events.ts";
import { type Format, LINK, type Medium, MP3, MP4, PDF, PNG, SCHEMA, TEXT } from "./asked.ts";

/** A caller's requests, and what it finds in an answer. */
export interface Caller {
  readonly id: ProtocolId;
  /** A request with this in it; `parts` are the user's. */
  ask(more: Json, parts?: readonly Json[]): Json;
  /** Its words for each of these; absent: it has none. */
  readonly form: Json;
  readonly tools: Json;
  readonly nameless: { readonly body: Json; readonly field: string };
  readonly search: { readonly body: Json; readonly field: string };
  readonly hosted: { readonly body: Json; readonly field: string };
  readonly stop?: Json;
  readonly choices?: { readonly body: Json; readonly field: string };
  readonly media: Readonly<Partial<Record<Medium, { readonly part: Json; readonly field: string }>>>;
  textIn(answer: Json): string;
  /** The pages that the answer rests on; absent: the format cannot say them. */
  pagesIn?(answer: Json): Json;
  /** How the answer says that the model declined. */
  declinedIn(answer: Json): Json;
  readonly declined: Json;
}

const google = (config: Json): Json => ({ generationConfig: config });

export const CALLERS: Readonly<Record<Format, Caller>> = {
  chat: {
    id: "compat_chat_completions",
    ask: (more, content = [{ type: "text", text: "Go." }]) => ({
      messages: [{ role: "user", content }],
      ...more,
    }),
    form: {
      response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: SCHEMA } },
    },
    tools: { tools: [{ type: "function", function: { name: "f", parameters: SCHEMA, strict: true } }] },
    nameless: {
      body: { tools: [{ type: "function", function: { description: "x" } }] },
      field: "tools[0].function.name",
    },
    search: { body: { web_search_options: {} }, field: "web_search_options" },
    hosted: { body: { tools: [{ type: "code_interpreter" }] }, field: "tools[0].type" },
    stop: { stop: ["END"] },
    choices: { body: { n: 2 }, field: "n" },
    media: {
      image: {
        part: { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
        field: "messages[0].content[0].image_url.url",
      },
      pdf: {
        part: { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` } },
        field: "messages[0].content[0].file.file_data",
      },
      "text file": {
        part: { type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${TEXT}` } },
        field: "messages[0].content[0].file.file_data",
      },
      link: {
        part: { type: "file", file: { filename: "a.pdf", file_data: LINK } },
        field: "messages[0].content[0].file.file_data",
      },
      audio: {
        part: { type: "input_audio", input_audio: { data: MP3, format: "mp3" } },
        field: "messages[0].content[0].input_audio",
      },
      video: {
        part: { type: "video_url", video_url: { url: `data:video/mp4;base64,${MP4}` } },
        field: "messages[0].content[0].video_url.url",
      },
    },
    textIn: ({ choices: [{ message }] }) => message.content,
    pagesIn: ({ choices: [{ message }] }) =>
      message.annotations.map(({ url_citation: page }: Json) => page.url),
    declinedIn: ({ choices: [{ message, finish_reason: end }] }) => [
      message.refusal ?? message.content,
      end === "content_filter" || message.refusal !== null,
    ],
    declined: ["I cannot.", true],
  },
  messages: {
    id: "compat_messages",
    ask: (more, content = [{ type: "text", text: "Go." }]) => ({
      max_tokens: 100,
      messages: [{ role: "user", content }],
      ...more,
    }),
    form: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
    tools: { tools: [{ name: "f", input_schema: SCHEMA, strict: true }] },
    nameless: { body: { tools: [{ description: "x", input_schema: SCHEMA }] }, field: "tools[0].name" },
    search: {
      body: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
      field: "tools[0] (web_search_20250305)",
    },
    hosted: {
      body: { tools: [{ type: "code_execution_20250825", name: "code_execution" }] },
      field: "tools[0].type",
    },
    stop: { stop_sequences: ["END"] },
    media: {
      image: {
        part: { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
        field: "messages[0].content[0].source",
      },
      pdf: {
        part: {
          type: "document",
          title: "a.pdf",
          source: { type: "base64", media_type: "application/pdf", data: PDF },
        },
        field: "messages[0].content[0].source",
      },
      "text file": {
        part: {
          type: "document",
          title: "a.txt",
          source: { type: "text", media_type: "text/plain", data: "Hi." },
        },
        field: "messages[0].content[0].source",
      },
      link: {
        part: { type: "document", title: "a.pdf", source: { type: "url", url: LINK } },
        field: "messages[0].content[0].source.url",
      },
    },
    textIn: ({ content }) => content.map(({ text }: Json) => text).join(""),
    declinedIn: ({ content: [{ text }], stop_reason: end }) => [text, end],
    declined: ["I cannot.", "refusal"],
  },
  google: {
    id: "compat_generate_content",
    ask: (more, parts = [{ text: "Go." }]) => ({ contents: [{ role: "user", parts }], ...more }),
    form: google({ responseMimeType: "application/json", responseJsonSchema: SCHEMA }),
    tools: { tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: SCHEMA }] }] },
    nameless: {
      body: { tools: [{ functionDeclarations: [{ description: "x" }] }] },
      field: "tools[0].functionDeclarations[0].name",
    },
    search: { body: { tools: [{ googleSearch: {} }] }, field: "tools[].googleSearch" },
    hosted: { body: { tools: [{ codeExecution: {} }] }, field: "tools[0].codeExecution" },
    stop: google({ stopSequences: ["END"] }),
    choices: { body: google({ candidateCount: 2 }), field: "generationConfig.candidateCount" },
    media: {
      image: {
        part: { inlineData: { mimeType: "image/png", data: PNG } },
        field: "contents[0].parts[0].inlineData",
      },
      pdf: {
        part: { inlineData: { mimeType: "application/pdf", data: PDF } },
        field: "contents[0].parts[0].inlineData",
      },
      "text file": {
        part: { inlineData: { mimeType: "text/plain", data: TEXT } },
        field: "contents[0].parts[0].inlineData",
      },
      link: {
        part: { fileData: { mimeType: "application/pdf", fileUri: LINK } },
        field: "contents[0].parts[0].fileData",
      },
      audio: {
        part: { inlineData: { mimeType: "audio/mp3", data: MP3 } },
        field: "contents[0].parts[0].inlineData",
      },
      video: {
        part: { inlineData: { mimeType: "video/mp4", data: MP4 } },
        field: "contents[0].parts[0].inlineData",
      },
    },
    textIn: ({ candidates: [{ content }] }) => content.parts.map(({ text }: Json) => text).join(""),
    pagesIn: ({ candidates: [{ groundingMetadata }] }) =>
      groundingMetadata.groundingChunks.map(({ web }: Json) => web.uri),
    declinedIn: ({ candidates: [{ content, finishReason }] }) => [content.parts[0].text, finishReason],
    declined: ["I cannot.", "SAFETY"],
  },
  responses: {
    id: "compat_responses",
    ask: (more, content = [{ type: "input_text", text: "Go." }]) => ({
      input: [{ role: "user", content }],
      ...more,
    }),
    form: { text: { format: { type: "json_schema", name: "n", strict: true, schema: SCHEMA } } },
    tools: { tools: [{ type: "function", name: "f", parameters: SCHEMA, strict: true }] },
    nameless: { body: { tools: [{ type: "function", description: "x" }] }, field: "tools[0].name" },
    search: { body: { tools: [{ type: "web_search" }] }, field: "tools[0] (web_search)" },
    hosted: { body: { tools: [{ type: "code_interpreter" }] }, field: "tools[0].type" },
    media: {
      image: {
        part: { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
        field: "input[0].content[0].image_url",
      },
      pdf: {
        part: { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` },
        field: "input[0].content[0].file_data",
      },
      "text file": {
        part: { type: "input_file", filename: "a.txt", file_data: `data:text/plain;base64,${TEXT}` },
        field: "input[0].content[0].file_data",
      },
      link: {
        part: { type: "input_file", filename: "a.pdf", file_url: LINK },
        field: "input[0].content[0].file_url",
      },
      audio: {
        part: { type: "input_audio", input_audio: { data: MP3, format: "mp3" } },
        field: "input[0].content[0].input_audio",
      },
    },
    textIn: ({ output: [{ content }] }) => content.map(({ text }: Json) => text).join(""),
    pagesIn: ({ output: [{ content }] }) => content[0].annotations.map(({ url }: Json) => url),
    declinedIn: ({ output: [{ content }], incomplete_details: cut }) => [
      content[0].refusal ?? content[0].text,
      content[0].refusal !== undefined || cut?.reason === "content_filter",
    ],
    declined: ["I cannot.", true],
  },
};
