import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Desk, fieldsOf, type MediaDouble, readBody, startMediaDouble } from "./media-double.ts";

/** A double of Gemini's maker of images, written from its reference: one image to a call, in base64. */
export function startGoogleDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "", mediaBase: "/v1beta", answer }, key);
}

const STRICT = { additionalProperties: false };
const inlineData = Type.Object(
  {
    mimeType: Type.String({ pattern: "^image/(png|jpeg|webp)$" }),
    data: Type.String({ pattern: "^[A-Za-z0-9+/]+=*$" }),
  },
  STRICT,
);
const read = readBody(
  Type.Object(
    {
      contents: Type.Array(
        Type.Object(
          {
            role: Type.Literal("user"),
            parts: Type.Array(
              Type.Union([Type.Object({ text: Type.String() }, STRICT), Type.Object({ inlineData }, STRICT)]),
              { minItems: 1, maxItems: 15 },
            ),
          },
          STRICT,
        ),
        { minItems: 1, maxItems: 1 },
      ),
      generationConfig: Type.Object(
        {
          responseModalities: Type.Array(Type.Enum(["TEXT", "IMAGE"])),
          imageConfig: Type.Optional(
            Type.Object(
              {
                aspectRatio: Type.Optional(
                  Type.Enum(["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]),
                ),
                imageSize: Type.Optional(Type.Enum(["1K", "2K", "4K"])),
              },
              STRICT,
            ),
          ),
          seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
        },
        STRICT,
      ),
    },
    STRICT,
  ),
);

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("x-goog-api-key") !== desk.key)
    return refused(
      400,
      "INVALID_ARGUMENT",
      "API key not valid. Please pass a valid API key.",
      "API_KEY_INVALID",
    );
  if (request.method !== "POST" || path !== "/models/gemini-3-pro-image:generateContent")
    return refused(404, "NOT_FOUND", "The model is not found for API version v1beta.");
  return desk.stage("images", () => {
    if (request.bodyText.length > 100_000_000)
      return refused(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 104857600 bytes.");
    const body = read(request);
    if (typeof body === "string") return refused(400, "INVALID_ARGUMENT", body);
    const work = desk.take(
      { model: "gemini-3-pro-image", input: fieldsOf(request), parameters: {} },
      request,
    );
    const { fails } = work.script;
    return jsonAnswer(200, fails === undefined ? made(desk.bytes(work, 1)) : blocked(fails.code));
  });
}

function made(images: readonly Uint8Array[]): object {
  return {
    candidates: [
      {
        content: {
          role: "model",
          parts: [
            { text: "A draft.", thought: true },
            { inlineData: { mimeType: "image/png", data: "ZHJhZnQ=" }, thought: true },
            { text: "Here it is" },
            ...images.map((bytes) => ({
              inlineData: { mimeType: "image/png", data: Buffer.from(bytes).toString("base64") },
              thoughtSignature: "c2ln",
            })),
          ],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 270,
      candidatesTokenCount: 1_120,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_120 }],
      thoughtsTokenCount: 180,
      totalTokenCount: 1_570,
    },
    modelVersion: "gemini-3-pro-image",
    responseId: "double",
  };
}

/** A block is a good answer: of the prompt, or of what was made. */
function blocked(reason: string): object {
  const usageMetadata = { promptTokenCount: 270, totalTokenCount: 270 };
  return reason.startsWith("PROMPT_")
    ? { promptFeedback: { blockReason: reason.slice("PROMPT_".length) }, usageMetadata }
    : { candidates: [{ finishReason: reason, index: 0 }], usageMetadata };
}

function refused(status: number, word: string, message: string, reason?: string): Answer {
  const details =
    reason === undefined ? [] : [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason }];
  return jsonAnswer(status, { error: { code: status, message, status: word, details } });
}
