import type { Environment } from "../../src/environment.ts";
import { type TestGateway, startGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { documentedAnswer } from "./documented-upstream.ts";

/** Every variable that makes a provider of a language model live, with the version segment of its address. */
const PROVIDERS: Readonly<Record<string, string>> = {
  OPENAI: "/v1",
  ANTHROPIC: "",
  GEMINI: "",
  XAI: "/v1",
  DEEPSEEK: "",
  DASHSCOPE: "/v1",
  MOONSHOT: "/v1",
  ZAI: "/v4",
};

/** A gateway with every provider live, all of them played by one double. */
export interface WholeCatalogue {
  readonly gateway: TestGateway;
  readonly double: UpstreamDouble;
  close(): Promise<void>;
}

/** Starts it; with `OPENROUTER` among `more` the models are also served through that provider. */
export async function startWholeCatalogue(
  more: Readonly<Record<string, string>> = {},
): Promise<WholeCatalogue> {
  const double = await startUpstreamDouble();
  double.handle(documentedAnswer);
  const environment: Environment = Object.fromEntries(
    Object.entries({ ...PROVIDERS, ...more }).flatMap(([name, version]) => [
      [`${name}_API_KEY`, UPSTREAM_KEY],
      [`${name}_BASE_URL`, `${double.url}${version}`],
    ]),
  );
  const gateway = await startGateway({ environment });
  return {
    gateway,
    double,
    async close() {
      await gateway.close();
      await double.close();
    },
  };
}
