// `npm run console`: builds the console's files, which are committed. `--check` builds them elsewhere and compares.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compressAll, differences } from "../console/build/compress.mjs";
import { runCaptured } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { BUN_FLAGS, LaunchError, ROOT, bunBinary, main, runtimeEnvironment } from "./runtime.mjs";

const DIST = join(ROOT, "console/dist");
const TYPES = join(ROOT, "console/src/api/schema.d.ts");

await main(async () => {
  await ensureInstalled({ dev: true });
  const isCheck = process.argv.includes("--check");
  const folder = mkdtempSync(join(tmpdir(), "switchyard-console-"));
  try {
    const types = await describeTypes(folder);
    if (isCheck) {
      const anew = join(folder, "dist");
      const told = readFileSync(TYPES, "utf8") === types ? [] : ["console/src/api/schema.d.ts differs"];
      await build(anew);
      told.push(...differences(DIST, anew));
      for (const sentence of told) console.log(sentence);
      console.log(told.length === 0 ? "the console's files are those of its source" : "run: npm run console");
      return told.length === 0 ? 0 : 1;
    }
    writeFileSync(TYPES, types);
    await build(DIST);
    return 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/**
 * The types of the API, from its description.
 * @param {string} folder for files in between
 */
async function describeTypes(folder) {
  const description = join(folder, "openapi.json");
  const types = join(folder, "schema.d.ts");
  const env = runtimeEnvironment();
  const described = await runCaptured(bunBinary(), [...BUN_FLAGS, "console/build/describe.ts"], { env });
  if (described.code !== 0) throw new LaunchError(described.output);
  writeFileSync(description, described.output);
  await runNode(["node_modules/openapi-typescript/bin/cli.js", description, "--output", types]);
  return readFileSync(types, "utf8");
}

/** @param {string} outDir */
async function build(outDir) {
  const config = [
    "--config",
    "console/vite.config.ts",
    "--outDir",
    outDir,
    "--emptyOutDir",
    "--logLevel",
    "warn",
  ];
  await runNode(["node_modules/vite/bin/vite.js", "build", "console", ...config]);
  compressAll(outDir);
}

/** @param {string[]} args */
async function runNode(args) {
  const { code, output } = await runCaptured(process.execPath, args);
  if (code !== 0) throw new LaunchError(output);
  if (output.trim() !== "") console.error(output.trimEnd());
}
