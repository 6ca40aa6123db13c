import { chatCompletionsServer } from "../../../src/protocols/chat-completions/server/index.ts";
import { generateContentClient } from "../../../src/protocols/generate-content/client/index.ts";
import { messagesClient } from "../../../src/protocols/messages/client/index.ts";
import { type ClientEnd, translate } from "../../../src/protocols/translate.ts";
import { chatCutFormat } from "../chat/cut-format.ts";
import type { CutFormat, SourceStream } from "../cut-format.ts";
import { recordedStreams } from "../cut-streams.ts";
import { generateCutFormat } from "../generate/cut-format.ts";
import { messagesCutFormat } from "../messages/cut-format.ts";

/** Chat completions that come out of streams of another format. */
function crossFormat(from: CutFormat, client: ClientEnd): CutFormat {
  return {
    ...chatCutFormat,
    protocol: from.protocol,
    stages: translate(chatCompletionsServer, client),
    choicesOf: from.choicesOf,
    settings: from.settings,
    ownStreams: () => inFormat(from.ownStreams(), crossFormat(from, client)),
  };
}

function inFormat(streams: readonly SourceStream[], format: CutFormat): readonly SourceStream[] {
  return streams.map((stream) => ({ ...stream, format }));
}

/** Every stream, our own and recorded, of the formats that chat completions are made of. */
export function crossStreams(): readonly SourceStream[] {
  return [
    crossFormat(messagesCutFormat, messagesClient),
    crossFormat(generateCutFormat, generateContentClient),
  ].flatMap((format) => format.ownStreams().concat(recordedStreams(format)));
}
