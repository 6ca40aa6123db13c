import { describe, expect, test } from "bun:test";
import { readS3Address } from "./s3-address.ts";

const CREDENTIALS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
const read = (url: string, environment: Readonly<Record<string, string>> = CREDENTIALS) =>
  readS3Address(url, (name) => environment[name]);
const keys = { accessKeyId: "id", secretAccessKey: "secret" };

describe("the address of a bucket", () => {
  test("is its name, with a prefix, a region and an endpoint where these are told", () => {
    expect(read("s3://bucket")).toEqual({ bucket: "bucket", prefix: "", region: "us-east-1", ...keys });
    expect(read("s3://bucket//a/b_c-d.e//?region=eu-1&endpoint=https://s.example:9000//")).toEqual({
      bucket: "bucket",
      prefix: "a/b_c-d.e/",
      region: "eu-1",
      endpoint: "https://s.example:9000",
      ...keys,
    });
  });

  test("has the region of the environment where it tells none, and a token of a session", () => {
    const environment = { ...CREDENTIALS, AWS_REGION: "eu-2", AWS_SESSION_TOKEN: "t" };
    expect(read("s3://bucket", environment)).toMatchObject({ region: "eu-2", sessionToken: "t" });
    expect(read("s3://bucket?region=eu-1", environment).region).toBe("eu-1");
  });

  test("may have a bucket of three to sixty-three characters", () => {
    for (const length of [3, 63]) expect(read(`s3://${"b".repeat(length)}`).bucket).toHaveLength(length);
    for (const length of [2, 64]) expect(() => read(`s3://${"b".repeat(length)}`)).toThrow("names no bucket");
  });

  const refused: readonly (readonly [url: string, sentence: string])[] = [
    ["bucket", "ASSETS_URL is no URL such as s3://bucket/prefix"],
    ["https://bucket", "ASSETS_URL is no URL such as s3://bucket/prefix"],
    ["s3://canary@bucket", "ASSETS_URL has a name, a password, a port or a fragment"],
    ["s3://:canary@bucket", "ASSETS_URL has a name, a password, a port or a fragment"],
    ["s3://bucket:9000", "ASSETS_URL has a name, a password, a port or a fragment"],
    ["s3://bucket#canary", "ASSETS_URL has a name, a password, a port or a fragment"],
    ["s3://Bucket_", "ASSETS_URL names no bucket"],
    ["s3://bucket/a//b", "ASSETS_URL has a prefix with other than"],
    ["s3://bucket/.a", "ASSETS_URL has a prefix with other than"],
    ["s3://bucket/ä", "ASSETS_URL has a prefix with other than"],
    ["s3://bucket?secret=canary", "ASSETS_URL takes region and endpoint, each once"],
    ["s3://bucket?region=a&region=b", "ASSETS_URL takes region and endpoint, each once"],
    ["s3://bucket?region=A_", "ASSETS_URL has a region that is none"],
    ["s3://bucket?endpoint=s.example", "ASSETS_URL has an endpoint that is no address"],
    ["s3://bucket?endpoint=ftp://s.example", "ASSETS_URL has an endpoint that is no address"],
    ["s3://bucket?endpoint=https://s.example/path", "ASSETS_URL has an endpoint that is no address"],
    ["s3://bucket?endpoint=https://canary@s.example", "ASSETS_URL has an endpoint that is no address"],
  ];
  for (const [url, sentence] of refused)
    test(`is refused in one sentence, without what may be a secret: ${url}`, () => {
      let told = "";
      try {
        read(url);
      } catch (error) {
        told = (error as Error).message;
      }
      expect(told).toStartWith(sentence);
      expect(told).not.toContain("canary");
    });

  test("needs both parts of a credential, and says which is missing", () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] as const) {
      const { [name]: _missing, ...rest } = CREDENTIALS;
      expect(() => read("s3://bucket", rest)).toThrow(`ASSETS_URL is set, but ${name} is not.`);
    }
  });
});
