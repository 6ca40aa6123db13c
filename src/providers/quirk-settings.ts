import { Type, type Static } from "typebox";
import { MOST_CHAT_STOPS } from "../core/model.ts";
import { type ChatDialect, OPEN_CHAT, REASONING_FIELDS } from "../protocols/chat-dialect.ts";
import type { Dialect } from "./provider.ts";

const closed = { additionalProperties: false };

const Names = Type.Optional(Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true }));
const YesNo = Type.Optional(Type.Boolean());

/** Quirks as they are written in the settings file: the members of `ChatDialect`, each one optional. */
export const QuirkSettings = Type.Object(
  {
    takes: Names,
    renames: Type.Optional(Type.Record(Type.String(), Type.String({ minLength: 1 }))),
    developer_role: YesNo,
    null_content: YesNo,
    message_fields: Names,
    reasoning_back: Type.Optional(Type.Array(Type.Enum([...REASONING_FIELDS]), { uniqueItems: true })),
    foreign_details: YesNo,
    message_images: YesNo,
    image_signatures: YesNo,
    thinking: Type.Optional(
      Type.Object(
        {
          effort: Type.Optional(Type.Enum(["reasoning_effort", "reasoning"])),
          toggle: Type.Optional(Type.Enum(["thinking", "enable_thinking", "reasoning"])),
          budget: Type.Optional(Type.Enum(["thinking_budget", "reasoning"])),
        },
        closed,
      ),
    ),
    bounds_reasoning: YesNo,
    tool_choice: Type.Optional(Type.Enum(["full", "words", "auto_none", "auto"])),
    json_schema: YesNo,
    json_object: YesNo,
    many_choices: YesNo,
    most_stops: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_CHAT_STOPS })),
    cache_marks: YesNo,
    file_links: YesNo,
    own_parts: Names,
    custom_tools: YesNo,
    tool_ids: Type.Optional(Type.Enum(["any", "forty", "nine"])),
  },
  closed,
);

/** The dialect with the quirks that are set in place of its own. */
export function withQuirks(dialect: Dialect, quirks: Static<typeof QuirkSettings>): Dialect {
  const base: ChatDialect = dialect.chat ?? OPEN_CHAT;
  const takes = quirks.takes ?? base.takes;
  const messageFields = quirks.message_fields ?? base.messageFields;
  return {
    ...dialect,
    chat: {
      ...(takes === undefined ? {} : { takes }),
      renames: quirks.renames ?? base.renames,
      developerRole: quirks.developer_role ?? base.developerRole,
      nullContent: quirks.null_content ?? base.nullContent,
      ...(messageFields === undefined ? {} : { messageFields }),
      reasoningBack: quirks.reasoning_back ?? base.reasoningBack,
      foreignDetails: quirks.foreign_details ?? base.foreignDetails,
      messageImages: quirks.message_images ?? base.messageImages,
      imageSignatures: quirks.image_signatures ?? base.imageSignatures,
      thinking: quirks.thinking ?? base.thinking,
      boundsReasoning: quirks.bounds_reasoning ?? base.boundsReasoning,
      toolChoice: quirks.tool_choice ?? base.toolChoice,
      jsonSchema: quirks.json_schema ?? base.jsonSchema,
      jsonObject: quirks.json_object ?? base.jsonObject,
      manyChoices: quirks.many_choices ?? base.manyChoices,
      mostStops: quirks.most_stops ?? base.mostStops,
      cacheMarks: quirks.cache_marks ?? base.cacheMarks,
      fileLinks: quirks.file_links ?? base.fileLinks,
      ownParts: quirks.own_parts ?? base.ownParts,
      customTools: quirks.custom_tools ?? base.customTools,
      toolIds: quirks.tool_ids ?? base.toolIds,
    },
  };
}
