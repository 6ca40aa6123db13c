import { expect, test } from "bun:test";
import { createRegistry, type Registry } from "./registry.ts";

async function textOf(registry: Registry): Promise<string> {
  let text = "";
  for await (const part of registry.text()) text += part;
  return text;
}

test("a counter is written with its labels in order, empty where none is given, and escapes what would end one", async () => {
  const registry = createRegistry();
  const asked = registry.counters({ name: "asked_total", help: "Asked\\so\noften", labels: ["by", "for"] });
  asked("a", 'say "hi"\\\n').add(2);
  asked("a", 'say "hi"\\\n').add(0.5);
  asked("b", "").add(1);
  asked("c").add(3);
  expect(await textOf(registry)).toBe(
    [
      "# HELP asked_total Asked\\\\so\\noften",
      "# TYPE asked_total counter",
      'asked_total{by="a",for="say \\"hi\\"\\\\\\n"} 2.5',
      'asked_total{by="b",for=""} 1',
      'asked_total{by="c",for=""} 3',
      "",
    ].join("\n"),
  );
});

test("a counter that is kept in a smaller unit is shown in its own", async () => {
  const registry = createRegistry();
  registry
    .counters({ name: "sums_total", help: "Sums", labels: [] }, (value) => `${value / 4}`)()
    .add(5);
  expect(await textOf(registry)).toEndWith("sums_total 1.25\n");
});

test("a histogram counts a value in the first bucket that is not below it, and each bucket has those before", async () => {
  const registry = createRegistry();
  const times = registry.histograms({ name: "times", help: "Times", labels: ["of"] }, [0.1, 1]);
  for (const value of [0, 0.1, 0.25, 1, 1.5, 100]) times("x").observe(value);
  expect(await textOf(registry)).toBe(
    [
      "# HELP times Times",
      "# TYPE times histogram",
      'times_bucket{of="x",le="0.1"} 2',
      'times_bucket{of="x",le="1"} 4',
      'times_bucket{of="x",le="+Inf"} 6',
      'times_sum{of="x"} 102.85',
      'times_count{of="x"} 6',
      "",
    ].join("\n"),
  );
});

test("values that are read are read anew for each text, and one that cannot be read is left out with its family", async () => {
  const registry = createRegistry();
  let count = 0;
  const readings = (name: string, read: () => Promise<[[string[], number]]>): void =>
    registry.readings({ name, help: "Read", labels: ["of"], type: "gauge", read });
  readings("broken", () => Promise.reject(new Error("the store is away")));
  readings("count", async () => [[["x"], (count += 1)]]);
  await textOf(registry);
  expect(await textOf(registry)).toBe('# HELP count Read\n# TYPE count gauge\ncount{of="x"} 2\n');
});

test("the text comes in parts of 64 series, and the last has what is left", async () => {
  const registry = createRegistry();
  const asked = registry.counters({ name: "asked_total", help: "Asked", labels: ["by"] });
  for (let i = 0; i < 1_000; i += 1) asked(`${i}`).add(1);
  const lines: number[] = [];
  for await (const part of registry.text()) lines.push(part.split("\n").length - 1);
  // The first has the family's two lines, too.
  expect(lines).toEqual([2 + 64, ...Array.from({ length: 14 }, () => 64), 40]);
});
