import type { S3Place } from "../runtime/s3.ts";

/** The bucket for result files. */
export interface S3Address extends S3Place {
  /** Stands before all our keys; empty, or with a slash at its end. */
  readonly prefix: string;
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const REGION = /^[a-z0-9-]+$/;

/**
 * Reads `s3://bucket/prefix?region=…&endpoint=…`, with the credentials of the environment that all tools for S3 read.
 * Throws one sentence that names what is wrong; it shows no part of a URL that may hold a secret.
 */
export function readS3Address(text: string, valueOf: (name: string) => string | undefined): S3Address {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "s3:")
    throw new Error("ASSETS_URL is no URL such as s3://bucket/prefix?region=…&endpoint=….");
  if (url.username !== "" || url.password !== "" || url.port !== "" || url.hash !== "")
    throw new Error(
      "ASSETS_URL has a name, a password, a port or a fragment: credentials go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    );
  if (!BUCKET.test(url.hostname))
    throw new Error("ASSETS_URL names no bucket, or one that S3 does not allow.");
  const prefix = url.pathname.replace(/^\/+|\/+$/g, "");
  if (prefix !== "" && !PREFIX.test(prefix))
    throw new Error("ASSETS_URL has a prefix with other than letters, digits, dots, dashes, _ and single /.");
  const names = [...url.searchParams.keys()];
  const odd = names.find((name, i) => !["region", "endpoint"].includes(name) || names.indexOf(name) !== i);
  if (odd !== undefined)
    throw new Error("ASSETS_URL takes region and endpoint, each once, and nothing else.");
  const region = url.searchParams.get("region") ?? valueOf("AWS_REGION") ?? "us-east-1";
  if (!REGION.test(region)) throw new Error("ASSETS_URL has a region that is none.");
  const endpoint = url.searchParams.get("endpoint")?.replace(/\/+$/, "");
  if (endpoint !== undefined && !isOrigin(endpoint))
    throw new Error("ASSETS_URL has an endpoint that is no address such as https://storage.example:9000.");
  const credential = (name: string): string => {
    const value = valueOf(name);
    if (value === undefined) throw new Error(`ASSETS_URL is set, but ${name} is not.`);
    return value;
  };
  const sessionToken = valueOf("AWS_SESSION_TOKEN");
  return {
    bucket: url.hostname,
    prefix: prefix === "" ? "" : `${prefix}/`,
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    accessKeyId: credential("AWS_ACCESS_KEY_ID"),
    secretAccessKey: credential("AWS_SECRET_ACCESS_KEY"),
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
}

/**
 * Whether the text is scheme, host and port alone: readers of the store's URLs use it too, and the bucket is put behind
 * it.
 */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}
