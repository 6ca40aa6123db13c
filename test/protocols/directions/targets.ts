import { expect } from "bun:test";
import type { Json } from "../chat-events.ts";
import { response } from "../../upstream/responses-bytes.ts";
import { PROVIDER } from "../translated-way.ts";
import { type Format, LINK, type Medium, MP3, MP4, PDF, PNG, TEXT } from "./asked.ts";

/** A provider's answer with this text, and with what it says of its pages or its end. */
export interface Said {
  readonly text: string;
  readonly page?: string;
  readonly declined?: true;
}

/** What a provider is sent, and its answers. */
export interface Target {
  readonly provider: (typeof PROVIDER)[keyof typeof PROVIDER];
  formIn(up: Json): Json;
  toolIn(up: Json): Json;
  stopIn(up: Json): Json;
  choicesIn?(up: Json): Json;
  searchIn?(up: Json): Json;
  partsIn(up: Json): Json;
  readonly media: Readonly<Partial<Record<Medium, Json>>>;
  answer(said: Said): Json;
}

const base64 = (type: string, data: string): string => `data:${type};base64,${data}`;

export const TARGETS: Readonly<Record<Format, Target>> = {
  chat: {
    provider: PROVIDER.chat,
    formIn: (up) => up.response_format.json_schema.schema,
    toolIn: (up) => up.tools[0].function.parameters,
    stopIn: (up) => up.stop,
    choicesIn: (up) => up.n,
    partsIn: (up) => [up.messages[0].content].flat(),
    media: {
      image: { type: "image_url", image_url: { url: base64("image/png", PNG) } },
      pdf: { type: "file", file: { file_data: base64("application/pdf", PDF) } },
      "text file": expect.stringContaining("Hi."),
    },
    answer: ({ text, page, declined }) => ({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "up",
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: {
            role: "assistant",
            ...(declined === undefined ? { content: text } : { content: null, refusal: text }),
            ...(page === undefined
              ? {}
              : {
                  annotations: [
                    {
                      type: "url_citation",
                      url_citation: { url: page, title: "A", start_index: 0, end_index: 4 },
                    },
                  ],
                }),
          },
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    }),
  },
  messages: {
    provider: PROVIDER.claude,
    formIn: (up) => up.output_config.format.schema,
    toolIn: (up) => up.tools[0].input_schema,
    stopIn: (up) => up.stop_sequences,
    searchIn: (up) => up.tools[0].type,
    partsIn: (up) => up.messages[0].content,
    media: {
      image: { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
      pdf: { type: "document", source: { type: "base64", media_type: "application/pdf", data: PDF } },
      "text file": { type: "document", source: { type: "text", data: "Hi." } },
      link: { type: "document", source: { type: "url", url: LINK } },
    },
    answer: ({ text, page, declined }) => ({
      id: "m",
      type: "message",
      role: "assistant",
      model: "up",
      content: [
        {
          type: "text",
          text,
          ...(page === undefined
            ? {}
            : {
                citations: [
                  {
                    type: "web_search_result_location",
                    url: page,
                    title: "A",
                    cited_text: "a",
                    encrypted_index: "x",
                  },
                ],
              }),
        },
      ],
      stop_reason: declined === undefined ? "end_turn" : "refusal",
      usage: { input_tokens: 1, output_tokens: 2 },
    }),
  },
  google: {
    provider: PROVIDER.gemini,
    formIn: (up) => up.generationConfig.responseJsonSchema,
    toolIn: (up) => up.tools[0].functionDeclarations[0].parametersJsonSchema,
    stopIn: (up) => up.generationConfig.stopSequences,
    choicesIn: (up) => up.generationConfig.candidateCount,
    searchIn: (up) => Object.keys(up.tools[0])[0],
    partsIn: (up) => up.contents[0].parts,
    media: {
      image: { inlineData: { mimeType: "image/png", data: PNG } },
      pdf: { inlineData: { mimeType: "application/pdf", data: PDF } },
      "text file": { inlineData: { mimeType: "text/plain", data: TEXT } },
      link: { fileData: { mimeType: "application/pdf", fileUri: LINK } },
      audio: { inlineData: { mimeType: "audio/mp3", data: MP3 } },
      video: { inlineData: { mimeType: "video/mp4", data: MP4 } },
    },
    answer: ({ text, page, declined }) => ({
      candidates: [
        {
          index: 0,
          finishReason: declined === undefined ? "STOP" : "SAFETY",
          content: { role: "model", parts: [{ text }] },
          ...(page === undefined
            ? {}
            : {
                groundingMetadata: {
                  groundingChunks: [{ web: { uri: page, title: "A" } }],
                  groundingSupports: [
                    { segment: { startIndex: 0, endIndex: 4, text }, groundingChunkIndices: [0] },
                  ],
                },
              }),
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
    }),
  },
  responses: {
    provider: PROVIDER.responses,
    formIn: (up) => up.text.format.schema,
    toolIn: (up) => up.tools[0].parameters,
    stopIn: (up) => up.stop,
    searchIn: (up) => up.tools[0].type,
    partsIn: (up) => up.input[0].content,
    media: {
      image: { type: "input_image", image_url: base64("image/png", PNG) },
      pdf: { type: "input_file", file_data: base64("application/pdf", PDF) },
      "text file": { type: "input_text", text: expect.stringContaining("Hi.") },
      link: { type: "input_file", file_url: LINK },
    },
    answer: ({ text, page, declined }) => {
      const annotations =
        page === undefined
          ? []
          : [{ type: "url_citation", url: page, title: "A", start_index: 0, end_index: 4 }];
      const said = { type: "output_text", text, annotations };
      return response([declined === undefined ? said : { type: "refusal", refusal: text }], [1, 2]);
    },
  },
};
