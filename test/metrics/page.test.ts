import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { describeWithPromtool, promtool } from "./promtool.ts";
import { scrape } from "./samples.ts";

// docs/metrics.md against what the gateway says, and against Prometheus itself.

const page = readFileSync(join(import.meta.dirname, "../../docs/metrics.md"), "utf8");

const block = (marker: string): string =>
  [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, text = ""]) => text)
    .find((text) => text.includes(marker)) ?? "";

test("the page has every family with its type and its labels, and no other", async () => {
  const described = page.split("\n").flatMap((line) => {
    const [, names = "", type = "", labels = ""] = line.split("|").map((cell) => cell.trim());
    if (!/^`(switchyard|process)_/.test(names)) return [];
    return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name} ${type} ${labels.replaceAll("`", "")}`);
  });
  const double = await startUpstreamDouble();
  const environment = { SWITCHYARD_SANDBOX: "on" };
  const [luna, sol] = ["openai/gpt-5.6-luna", "openai/gpt-5.6-sol"];
  const settings = JSON.stringify({ routing: { models: { [luna]: { fallback: [sol] } } } });
  const gateway = await startGateway({ openai: `${double.url}/v1`, environment, settings });
  double.enqueue(jsonAnswer(404, {}), chatStreamAnswer({ words: ["Hello."] }));
  const ask = { model: luna, messages: [{ role: "user", content: "Hello." }] };
  await (await gateway.chat({ ...ask, stream: true })).text();
  const image = { model: "alibaba/qwen-image-2.0", prompt: "A fox.", size: "512*512" };
  await (await gateway.post("/api/v1/images/generations", image)).text();
  const text = await scrape(gateway);
  await gateway.close();
  await double.close();
  const labelsOf = (name: string): string => {
    const [, labels = ""] = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, "m").exec(text) ?? [];
    return [...labels.matchAll(/(\w+)="/g)]
      .flatMap(([, label]) => (label === "le" ? [] : [label]))
      .join(", ");
  };
  const families = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  expect(families.map(([, name = "", type]) => `${name} ${type} ${labelsOf(name)}`).sort()).toEqual(
    described.sort(),
  );
});

/** What promtool says of files in a folder of their own, by the last of them. */
function asked(args: readonly string[], files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-promtool-"));
  const paths = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  try {
    return promtool([...args, paths.at(-1) ?? ""]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describeWithPromtool("Prometheus", () => {
  const alerts = block("alert:");

  test("takes the page's scrape config and its alerts", () => {
    expect(asked(["check", "config", "--syntax-only"], { "a.yaml": block("scrape_configs") })).toBe("");
    expect(asked(["check", "rules"], { "a.yaml": alerts })).toBe("");
    expect(asked(["check", "rules"], { "a.yaml": alerts.replaceAll("sum by", "sum buy") })).not.toBe("");
  });

  test("fires each alert for what it is about, and for nothing else", () => {
    const cases = `
rule_files: [alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'switchyard_attempts_total{provider="bad",result="200"}', values: 0+80x30 }
      - { series: 'switchyard_attempts_total{provider="bad",result="529"}', values: 0+20x30 }
      - { series: 'switchyard_attempts_total{provider="good",result="200"}', values: 0+95x30 }
      - { series: 'switchyard_attempts_total{provider="good",result="400"}', values: 0+20x30 }
      - { series: 'switchyard_attempts_total{provider="good",result="no_answer"}', values: 0+5x30 }
      - { series: 'switchyard_store_commit_seconds_bucket{le="0.25"}', values: 0+98x30 }
      - { series: 'switchyard_store_commit_seconds_bucket{le="1"}', values: 0+100x30 }
      - { series: 'switchyard_store_commit_seconds_bucket{le="+Inf"}', values: 0+100x30 }
      - { series: 'switchyard_store_failures_total', values: 0x30 }
      - { series: 'switchyard_event_loop_delay_seconds_bucket{instance="busy",le="0.1"}', values: 0+90x30 }
      - { series: 'switchyard_event_loop_delay_seconds_bucket{instance="busy",le="0.2"}', values: 0+100x30 }
      - { series: 'switchyard_event_loop_delay_seconds_bucket{instance="busy",le="+Inf"}', values: 0+100x30 }
      - { series: 'switchyard_event_loop_delay_seconds_bucket{instance="idle",le="0.1"}', values: 0+100x30 }
      - { series: 'switchyard_event_loop_delay_seconds_bucket{instance="idle",le="+Inf"}', values: 0+100x30 }
    alert_rule_test:
      - eval_time: 20m
        alertname: ProviderFails
        exp_alerts:
          - exp_labels: { provider: bad }
            exp_annotations: { summary: bad refuses or fails a tenth of its calls }
      - eval_time: 20m
        alertname: BooksAreSlow
        exp_alerts:
          - exp_annotations: { summary: "charges wait for the disk or the database, and so do answers" }
      - eval_time: 20m
        alertname: GatewayIsBusy
        exp_alerts:
          - exp_labels: { instance: busy }
            exp_annotations: { summary: "busy has more work than one core does: add a process" }
`;
    expect(asked(["test", "rules"], { "alerts.yaml": alerts, "cases.yaml": cases })).toBe("");
    const quiet = cases.replaceAll("0+20x30", "0+1x30");
    expect(asked(["test", "rules"], { "alerts.yaml": alerts, "cases.yaml": quiet })).not.toBe("");
  });
});
