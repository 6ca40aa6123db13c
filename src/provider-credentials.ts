import { isDeepStrictEqual } from "node:util";
import { type Static, Type } from "typebox";
import { present } from "./core/json/json-value.ts";
import { checkCredential } from "./dangers.ts";
import type { Environment } from "./environment.ts";
import { RELAYS } from "./protocols/index.ts";
import type {
  Credential,
  MediaCredential,
  MediaDefinition,
  MediaProvider,
  NamedCredential,
  Provider,
} from "./providers/provider.ts";

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

type CredentialList = Static<typeof CredentialsSection>;

/** Where the credentials of a list are read. */
interface CredentialSource {
  /** The variable of the provider's own. */
  readonly own: string | undefined;
  readonly environment: Environment;
}

/** The provider with the credentials of its section behind its own, if it has one; the variable of that is `own`. */
export function withCredentials(
  path: string,
  provider: Provider,
  named: CredentialList,
  source: CredentialSource,
): Provider {
  if (named.length === 0) return provider;
  const { protocols, embeddings, secrets } = provider;
  const read = readCredentials(path, named, { ...source, hasOwn: secrets.length > 0 });
  const credentials = read.map(({ apiKey, credential }): Credential => ({
    ...credential,
    ...(apiKey === undefined ? { protocols, ...present({ embeddings }) } : signedWith(provider, apiKey)),
  }));
  // What a provider speaks by itself is signed with the first.
  const [first = provider] = credentials;
  return {
    ...provider,
    protocols: first.protocols,
    ...present({ embeddings: first.embeddings }),
    credentials,
    secrets: withKeys(secrets, read),
  };
}

/** The same of a provider of images or videos, which has one of its own. */
export function withMediaCredentials(
  path: string,
  provider: MediaProvider,
  named: CredentialList,
  { headers, ...source }: CredentialSource & Pick<MediaDefinition, "headers">,
): MediaProvider {
  if (named.length === 0) return provider;
  const read = readCredentials(path, named, { ...source, hasOwn: true });
  const own = { ...provider, secrets: withKeys(provider.secrets, read) };
  const signed = ({ apiKey, credential }: ReadCredential): MediaCredential => ({
    ...credential,
    provider: apiKey === undefined ? own : { ...own, headers: headers(apiKey) },
  });
  return { ...own, credentials: read.map(signed) };
}

/** A credential of a list. */
interface ReadCredential {
  readonly credential: NamedCredential;
  /** `undefined` where it is the provider's own. */
  readonly apiKey: string | undefined;
}

function readCredentials(
  path: string,
  named: CredentialList,
  { own = "", hasOwn, environment }: CredentialSource & { readonly hasOwn: boolean },
): readonly ReadCredential[] {
  const twice = named.find(({ env }, i) => named.findIndex((other) => other.env === env) !== i);
  if (twice !== undefined) throw new Error(`${path}.credentials names ${twice.env} twice.`);
  const read = named.map(
    ({ env: name, requests_per_minute: requestsPerMinute, concurrency }, i): ReadCredential => ({
      credential: { name, ...present({ requestsPerMinute, concurrency }) },
      apiKey: credentialIn(`${path}.credentials[${i}].env`, name, environment),
    }),
  );
  if (!hasOwn) return read;
  const bounded = read.find(({ credential }) => credential.name === own)?.credential ?? { name: own };
  return [
    { credential: bounded, apiKey: undefined },
    ...read.filter(({ credential }) => credential.name !== own),
  ];
}

function withKeys(secrets: readonly string[], read: readonly ReadCredential[]): readonly string[] {
  return [...new Set([...secrets, ...read.flatMap(({ apiKey = [] }) => apiKey)])];
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
