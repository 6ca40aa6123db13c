import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { startGateway } from "../gateway/gateway.ts";

// The README's own examples, pasted into a shell and run: only the address is that of the test's gateway.

const ROOT = join(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

/** All fenced blocks of a language. */
function blocks(language: string): readonly string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(
    (match) => match[1] ?? "",
  );
}

/** The first fenced block of a language that holds `marker`. */
function block(language: string, marker: string): string {
  return blocks(language).find((text) => text.includes(marker)) ?? "";
}

function run(command: string, args: readonly string[], environment: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env: { PATH: process.env.PATH ?? "", ...environment } });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

// A machine without curl cannot run the first example.
test.skipIf(Bun.which("curl") === null)("the README's curl and SDK examples answer", async () => {
  const double = await startUpstreamDouble();
  double.handle((request) =>
    (request.json() as { stream?: boolean }).stream === true
      ? chatStreamAnswer({ words: ["Hel", "lo."] })
      : chatAnswer({ words: ["Hello."] }),
  );
  const gateway = await startGateway({ openai: `${double.url}/v1` });
  const environment = { SWITCHYARD_KEY: gateway.key };
  const here = (text: string): string => text.replaceAll("http://127.0.0.1:8080", gateway.url);

  const curl = here(block("sh", "curl ")).replace("curl ", "curl -sS ");
  const answered = await run("sh", ["-c", curl], environment);
  expect(JSON.parse(answered)).toMatchObject({
    choices: [{ message: { content: "Hello." } }],
    credit: 0.034,
  });

  const folder = mkdtempSync(join(ROOT, ".tmp-readme-"));
  const file = join(folder, "example.ts");
  writeFileSync(file, here(block("ts", "new OpenAI")));
  expect(await run(process.execPath, [file], environment)).toBe("Hello.");
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
  await double.close();
});

test("each of the README's SDK examples prints the sandbox's words, when it is pasted into a file and run", async () => {
  const gateway = await startGateway();
  const folder = mkdtempSync(join(ROOT, ".tmp-readme-"));
  const examples = blocks("ts");
  expect(examples.map((text) => /new (\w+)\(/.exec(text)?.[1])).toEqual([
    "OpenAI",
    "OpenAI",
    "Anthropic",
    "GoogleGenAI",
  ]);
  for (const [at, text] of examples.entries()) {
    const file = join(folder, `example-${at}.ts`);
    writeFileSync(file, text.replaceAll("http://127.0.0.1:8080", gateway.url));
    expect(await run(process.execPath, [file], { SWITCHYARD_KEY: gateway.key })).toStartWith(
      "This is the Switchyard sandbox",
    );
  }
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

// A machine without curl cannot run these.
test.skipIf(Bun.which("curl") === null)(
  "the README's images and videos are made in the sandbox",
  async () => {
    const gateway = await startGateway();
    const folder = mkdtempSync(join(ROOT, ".tmp-readme-"));
    const commands = block("sh", "api/v1/videos").replaceAll("http://127.0.0.1:8080", gateway.url);
    const printed = await run("sh", ["-c", `cd "${folder}" && ${commands}`], { SWITCHYARD_KEY: gateway.key });
    const said = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), "utf8"));
    expect(said("image.json")).toMatchObject({ data: [{ url: expect.any(String) }], credit: 350 });
    expect(said("video.json")).toMatchObject({ status: "completed", credit: 5000 });
    for (const name of ["image.json", "video.json"])
      expect(printed).toContain(readFileSync(join(folder, name), "utf8"));
    expect(said("task.json")).toMatchObject({ status: "pending", id: expect.any(String) });
    const { url } = (said("image.json") as { readonly data: readonly { readonly url: string }[] }).data[0]!;
    expect((await fetch(url)).headers.get("content-type")).toBe("image/png");
    rmSync(folder, { recursive: true, force: true });
    await gateway.close();
  },
);

test("the README's switchyard.yaml is one that the gateway takes", async () => {
  const gateway = await startGateway({ settings: block("yaml", "ollama") });
  expect(gateway.services.offer().catalog.models.map((model) => model.id)).toEqual(["local/llama"]);
  await gateway.close();
});
