import { isDeepStrictEqual } from "node:util";
import { type Static, Type } from "typebox";
import { present } from "./core/json/json-value.ts";
import { checkCredential } from "./dangers.ts";
import type { Environment } from "./environment.ts";
import { RELAYS } from "./protocols/index.ts";
import type { Credential, Provider } from "./providers/provider.ts";

/** `credentials` of a section of `providers:`. */
export const CredentialsSection = Type.Array(
  Type.Object(
    {
      env: Type.String({ minLength: 1, description: "The environment variable that holds it" }),
      requests_per_minute: Type.Optional(Type.Integer({ minimum: 1 })),
      concurrency: Type.Optional(Type.Integer({ minimum: 1 })),
    },
    { additionalProperties: false },
  ),
  {
    minItems: 1,
    description: "Credentials beside the one variable; one that names that variable bounds the use of it",
  },
);

/** The provider with the credentials of its section behind its own, if it has one; the variable of that is `own`. */
export function withCredentials(
  path: string,
  provider: Provider,
  named: Static<typeof CredentialsSection>,
  { own = "", environment }: { readonly own: string | undefined; readonly environment: Environment },
): Provider {
  if (named.length === 0) return provider;
  const twice = named.find(({ env }, i) => named.findIndex((other) => other.env === env) !== i);
  if (twice !== undefined) throw new Error(`${path}.credentials names ${twice.env} twice.`);
  const keys = named.map(({ env }, i) => credentialIn(`${path}.credentials[${i}].env`, env, environment));
  const boundsOf = (variable: string): Pick<Credential, "requestsPerMinute" | "concurrency"> => {
    const { requests_per_minute: requestsPerMinute, concurrency } =
      named.find(({ env }) => env === variable) ?? {};
    return present({ requestsPerMinute, concurrency });
  };
  const { protocols, embeddings } = provider;
  const ownCredential = { name: own, ...boundsOf(own), protocols, ...present({ embeddings }) };
  const hasOwn = provider.secrets.length > 0;
  const credentials: Credential[] = [
    ...(hasOwn ? [ownCredential] : []),
    ...named.flatMap(({ env }, i) =>
      hasOwn && env === own
        ? []
        : [{ name: env, ...boundsOf(env), ...signedWith(provider, keys[i] as string) }],
    ),
  ];
  // What a provider speaks by itself is signed with the first.
  const first = hasOwn ? {} : signedWith(provider, keys[0] as string);
  return { ...provider, ...first, credentials, secrets: [...new Set([...provider.secrets, ...keys])] };
}

/** What the provider speaks, signed with another of its keys. */
function signedWith({ protocols, embeddings }: Provider, apiKey: string): Omit<Credential, "name"> {
  const signed = protocols.map((spoken) => ({
    ...spoken,
    headers: RELAYS[spoken.id].credentialHeaders(apiKey),
  }));
  if (embeddings === undefined) return { protocols: signed };
  // Embeddings are signed as the format at their address is.
  const { baseUrl, headers: now } = embeddings;
  const like = protocols.findIndex(
    (spoken) => spoken.baseUrl === baseUrl && isDeepStrictEqual(spoken.headers, now),
  );
  const headers = signed[Math.max(like, 0)]?.headers ?? {};
  return { protocols: signed, embeddings: { ...embeddings, headers } };
}

/** The credential in a variable that the file names at `at`. */
function credentialIn(at: string, variable: string, environment: Environment): string {
  const apiKey = environment[variable]?.trim() ?? "";
  if (apiKey === "") throw new Error(`${at} names ${variable}, which is not set.`);
  checkCredential(variable, apiKey);
  return apiKey;
}
