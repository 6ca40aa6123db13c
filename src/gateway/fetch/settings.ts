import { type Static, Type } from "typebox";
import { type Exceptions, isHostEntry } from "./target.ts";

/** `outbound` of the settings file. */
export const OutboundSettings = Type.Object(
  {
    allowed_hosts: Type.Optional(Type.Array(Type.String())),
    plain_http: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

/** Reads the section. Throws a sentence that names the file and the entry at fault. */
export function readOutbound(
  file: string,
  { allowed_hosts: allowedHosts = [], plain_http: plainHttp = false }: Static<typeof OutboundSettings>,
): Exceptions {
  const wrong = allowedHosts.find((entry) => !isHostEntry(entry));
  if (wrong !== undefined) {
    throw new Error(
      `${file}: outbound.allowed_hosts has ${JSON.stringify(wrong)}, which is no host and no host:port: write minio.internal:9000, without a scheme or a path.`,
    );
  }
  return { allowedHosts, plainHttp };
}
