import { describe, expect, test } from "bun:test";
import { type Environment, readConfig } from "./environment.ts";

function sentenceOf(run: () => unknown): string {
  try {
    run();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

const CREDENTIALS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "hush" };

describe("a bucket for result files", () => {
  const read = (url: string, more: Environment = {}) =>
    readConfig({ ...CREDENTIALS, ASSETS_URL: url, ...more }, "/x").assets;

  test("is read from a URL and the usual variables", () => {
    const credentials = { accessKeyId: "id", secretAccessKey: "hush" };
    expect(readConfig({}, "/x").assets).toBeUndefined();
    expect(read("s3://my-bucket")).toEqual({
      bucket: "my-bucket",
      prefix: "",
      region: "us-east-1",
      ...credentials,
    });
    expect(read("s3://b.c-d/one/two/?region=eu-west-1&endpoint=http%3A%2F%2F127.0.0.1%3A9000/")).toEqual({
      bucket: "b.c-d",
      prefix: "one/two/",
      region: "eu-west-1",
      endpoint: "http://127.0.0.1:9000",
      ...credentials,
    });
    expect(read("s3://bucket/", { AWS_REGION: "eu-north-1", AWS_SESSION_TOKEN: "t" })).toEqual({
      bucket: "bucket",
      prefix: "",
      region: "eu-north-1",
      ...credentials,
      sessionToken: "t",
    });
  });

  for (const name of Object.keys(CREDENTIALS)) {
    test(`needs ${name}`, () => {
      expect(sentenceOf(() => read("s3://bucket", { [name]: " " }))).toBe(
        `ASSETS_URL is set, but ${name} is not.`,
      );
    });
  }
});

describe("a variable at fault is one sentence that names it", () => {
  const cases = [
    { PORT: "x" },
    { PORT: "-1" },
    { PORT: "65536" },
    { PORT: "80.5" },
    { METRICS_LISTEN: "9464" },
    { METRICS_LISTEN: ":9464" },
    { METRICS_LISTEN: "127.0.0.1" },
    { METRICS_LISTEN: "127.0.0.1:65536" },
    { METRICS_LISTEN: "127.0.0.1:http" },
    { METRICS_LISTEN: "::1:9464" },
    { METRICS_LISTEN: "http://127.0.0.1:9464" },
    { METRICS_LISTEN: "127.0.0.1:9464/metrics" },
    { SWITCHYARD_WARM_UP: "later" },
    { SHUTDOWN_DELAY_SECONDS: "soon" },
    { SHUTDOWN_DELAY_SECONDS: "-1" },
    { SHUTDOWN_DELAY_SECONDS: "601" },
    { SHUTDOWN_DRAIN_SECONDS: "1h" },
    { SHUTDOWN_DRAIN_SECONDS: "3601" },
    { CONNECTIONS_PER_ADDRESS: "0" },
    { CONNECTIONS_PER_ADDRESS: "1.5" },
    { CONNECTIONS_PER_ADDRESS: "many" },
    { TRUSTED_PROXIES: "10.0.0.0/8,proxy" },
    { TRUSTED_PROXIES: "10.0.0.0/64" },
    { DATABASE_URL: "mysql://x" },
    { REDIS_URL: "redis://x" },
    { ASSETS_URL: "s3://x" },
    { ASSETS_URL: "https://bucket.s3.amazonaws.com/" },
    { ASSETS_URL: "bucket/prefix" },
    { ASSETS_URL: "s3://" },
    { ASSETS_URL: "s3://Bucket" },
    { ASSETS_URL: "s3://bucket:9000/prefix" },
    { ASSETS_URL: "s3://key:hush@bucket/prefix" },
    { ASSETS_URL: "s3://bucket/a//b" },
    { ASSETS_URL: "s3://bucket/a/%2e%2e%2fb" },
    { ASSETS_URL: "s3://bucket/a b" },
    { ASSETS_URL: "s3://bucket/.hidden" },
    { ASSETS_URL: "s3://bucket?region=a&region=b" },
    { ASSETS_URL: "s3://bucket?region=Mars!" },
    { ASSETS_URL: "s3://bucket?endpoint=storage:9000" },
    { ASSETS_URL: "s3://bucket?endpoint=http://storage:9000/path" },
    { ASSETS_URL: "s3://bucket?endpoint=http://key:hush@storage:9000" },
    { ASSETS_URL: "s3://bucket?secret=hush" },
    { ASSETS_URL: "s3://bucket#x" },
    { PUBLIC_URL: "example.com" },
    { PUBLIC_URL: "ftp://example.com" },
    { PUBLIC_URL: "https://me:hush@example.com" },
    { PUBLIC_URL: "https://example.com?hush" },
    { PUBLIC_URL: "https://example.com/#hush" },
    { SWITCHYARD_ADMIN_TOKEN: "short" },
    { SWITCHYARD_ADMIN_TOKEN: "hush-of-15-chrs" },
    { SWITCHYARD_ADMIN_TOKEN: "a".repeat(40) },
    { SWITCHYARD_ADMIN_TOKEN: "adm-hush-0123456789\nx: y" },
    { AWS_SECRET_ACCESS_KEY: "hush\r\nx: y", ASSETS_URL: "s3://bucket" },
    { AWS_SECRET_ACCESS_KEY: "hush\u2028x", ASSETS_URL: "s3://bucket" },
    { SWITCHYARD_ADMIN_TOKEN: "adm-hush-0123456789\u200b-0" },
    { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
  ];
  for (const environment of cases) {
    const [[name, value]] = Object.entries(environment) as [[string, string]];
    test(`${name}=${value}`, () => {
      const sentence = sentenceOf(() => readConfig({ ...CREDENTIALS, ...environment }, "/x"));
      expect(sentence).toContain(name);
      expect(sentence).toMatch(/^[A-Z][^\n]*\.$/);
      expect(sentence).not.toContain("hush");
    });
  }

  const wrong = [
    { PUBLIC_URL: "http://a b" },
    { SWITCHYARD_FAILPOINT: "nonsense" },
    { SWITCHYARD_WRITER_FAILPOINT: "nonsense" },
  ];
  for (const environment of wrong) {
    const [name = ""] = Object.keys(environment);
    test(`${name} of the wrong kind`, () =>
      expect(sentenceOf(() => readConfig(environment, "/x"))).toContain(name));
  }

  test("SHUTDOWN_DELAY_SECONDS is 5 when nothing is said, SHUTDOWN_DRAIN_SECONDS 60, and both may be 0", () => {
    expect(readConfig({}, "/x")).toMatchObject({ shutdownDelayMs: 5_000, shutdownDrainMs: 60_000 });
    const none = { SHUTDOWN_DELAY_SECONDS: "0", SHUTDOWN_DRAIN_SECONDS: "0" };
    expect(readConfig(none, "/x")).toMatchObject({ shutdownDelayMs: 0, shutdownDrainMs: 0 });
  });

  test("a process is warmed unless SWITCHYARD_WARM_UP is off", () => {
    const read = (text: string) => readConfig({ SWITCHYARD_WARM_UP: text }, "/x").warmUp;
    expect(["", "on", "off"].map(read)).toEqual([true, true, false]);
  });

  test("METRICS_LISTEN is a host or an address with a port, and nowhere when nothing is said", () => {
    const read = (text: string) => readConfig({ METRICS_LISTEN: text }, "/x").metricsListen;
    expect(read("")).toBeUndefined();
    expect(read("127.0.0.1:9464")).toEqual({ host: "127.0.0.1", port: 9464 });
    expect(read(" metrics.internal:0 ")).toEqual({ host: "metrics.internal", port: 0 });
    expect(read("[::1]:9464")).toEqual({ host: "::1", port: 9464 });
  });

  test("white space around a value, and an empty value, are nothing", () => {
    const config = readConfig(
      { PORT: " 81 ", HOST: "", PUBLIC_URL: " https://a/b// ", SWITCHYARD_ADMIN_TOKEN: " " },
      "/x",
    );
    expect(config).toMatchObject({
      port: 81,
      host: "127.0.0.1",
      publicUrl: "https://a/b",
      adminToken: undefined,
      home: "/x/data",
    });
    expect(Object.isFrozen(config)).toBe(true);
  });
});
