import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { PLACE_NAMES } from "../src/protocols/chat-completions/server/place-names.ts";

const ROOT = join(import.meta.dir, "..");

interface Source {
  /** From the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

const SOURCES: readonly Source[] = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .sort()
  .map((name) => {
    const path = `src/${name}`;
    const text = readFileSync(join(ROOT, path), "utf8");
    return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true) };
  });

function place({ path, tree }: Source, at: number): string {
  return `${path}:${tree.getLineAndCharacterOfPosition(at).line + 1}`;
}

/** Every node of a file for which `test` holds, as file:line. */
function nodes(source: Source, holds: (node: ts.Node) => boolean): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (holds(node)) found.push(place(source, node.getStart(source.tree)));
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  return found;
}

/** The text with comments blanked out, so that prose may name what code may not. */
function codeOf(source: Source): string {
  const known = CODE.get(source);
  if (known !== undefined) return known;
  const { text, tree } = source;
  let code = text;
  const blank = (from: number, to: number): void => {
    code = code.slice(0, from) + code.slice(from, to).replaceAll(/[^\n]/g, " ") + code.slice(to);
  };
  const visit = (node: ts.Node): void => {
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [])
      blank(range.pos, range.end);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  CODE.set(source, code);
  return code;
}

const CODE = new Map<Source, string>();

interface Ban {
  readonly name: string;
  readonly pattern: RegExp;
  /** Where it may stand, each with its reason. */
  readonly allowed: Readonly<Record<string, string>>;
}

const clock = "the clock of the machine";
const shown = "text of programs that are shown, not run";
const BANS: readonly Ban[] = [
  {
    name: "fetch(",
    pattern: /(?<![.\w])fetch\(/g,
    allowed: {
      "src/runtime/fetch.ts": "the HTTP client of providers' own addresses",
      "src/runtime/pinned-fetch.ts": "the HTTP client of URLs that others name, pinned to a checked address",
      "src/catalog/examples/": shown,
    },
  },
  {
    name: "other ways to the network",
    pattern:
      /\b(from |import |import\(|require\()["'](node:)?(https?|http2|net|tls|dgram|dns(\/promises)?|undici)["']|\bnew (WebSocket|EventSource|XMLHttpRequest)\b|\bBun\.(connect|udpSocket|dns)\b/g,
    allowed: { "src/runtime/resolve.ts": "the addresses of a name, for the guarded fetch" },
  },
  {
    name: "createPinnedFetch( and resolveName",
    pattern: /\b(createPinnedFetch\(|resolveName\b)/g,
    allowed: {
      "src/runtime/": "their definitions",
      "src/gateway/fetch/guarded-fetch.ts": "the one guarded fetch",
    },
  },
  {
    name: "fetchOnce(",
    pattern: /\bfetchOnce\(/g,
    allowed: {
      "src/runtime/fetch.ts": "its definition",
      "src/providers/upstream.ts": "the one guarded call",
      "src/runtime/s3.ts": "files that are read as they are sent, to the store of the operator",
    },
  },
  {
    name: "permitCount( and as CountPermit",
    pattern: /\bpermitCount\(|\bas (unknown as )?CountPermit\b/g,
    allowed: {
      "src/providers/permits.ts": "its definition",
      "src/gateway/language/count-tokens.ts": "the counting routes: a call without a hold",
    },
  },
  {
    name: "permitList( and as ListPermit",
    pattern: /\bpermitList\(|\bas (unknown as )?ListPermit\b/g,
    allowed: {
      "src/providers/permits.ts": "its definition",
      "src/gateway/routing/probes.ts": "probes: the other call without a hold",
    },
  },
  {
    name: "the time and timers of the machine",
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bsetTimeout\b|\bsetInterval\b|\bperformance\.now\b/g,
    allowed: {
      "src/core/time/clock.ts": clock,
      "src/log.ts": "lines are stamped and grouped in real time; nothing is decided by it",
      "src/catalog/examples/": shown,
    },
  },
  {
    name: "chance",
    pattern: /\bMath\.random\b|\bgetRandomValues\b|\brandomUUID\b|\brandomBytes\b/g,
    allowed: { "src/core/random.ts": "the random source of the machine" },
  },
  { name: "console", pattern: /\bconsole\./g, allowed: { "src/catalog/examples/": shown } },
  {
    name: "process.env",
    pattern: /\bprocess\.env\b/g,
    allowed: { "src/main.ts": "the environment is read once", "src/catalog/examples/": shown },
  },
  {
    name: "Bun",
    pattern: /["']bun(:\w+)?["']|\bBun\.|\bnew Worker\b/g,
    allowed: { "src/runtime/": "only the runtime folder knows the runtime" },
  },
  {
    name: "SQL",
    pattern:
      /\b(insert (or \w+ )?into|update \w+ set|delete from|select [^;"'`]+ from|create (table|index|trigger))\b/gi,
    allowed: {
      "src/db/": "tables and migrations",
      "src/ledger/": "the one writer",
      "src/kept/": "answers that are kept, beside the books",
    },
  },
  {
    name: "JSON.parse",
    pattern: /\bJSON\.parse\b/g,
    allowed: {
      "src/core/json/json-scan.ts": "a key that the scanner has checked",
      "src/catalog/examples/": shown,
      "src/catalog/catalog.ts": "a model file, then checked by its schema",
      "src/protocols/request-json.ts": "a body that the scanner has checked and bounded",
      "src/protocols/answer-json.ts": "a provider's answer, read tolerantly",
      "src/protocols/exact-json.ts": "text that is to be written again with the same digits",
      "src/protocols/refusal.ts": "a provider's refusal, read tolerantly",
      "src/protocols/chat-completions/repairs.ts": "a compatible provider's chunk",
      "src/protocols/carrier.ts": "what we wrote, under our seal",
      "src/protocols/scan.ts": "a place of an event that the scan has checked",
      "src/providers/sandbox/formats/form-in-words.ts":
        "objects in a prompt, so many and so long at the most",
      "src/http/routes/admin/body.ts": "a body that the scanner has checked and bounded",
      "src/gateway/admin/keys.ts": "a column that we wrote",
      "src/gateway/admin/requests.ts": "columns that we wrote",
      "src/keys/key-store.ts": "a column that we wrote",
      "src/ledger/reads/task-hold.ts": "columns that we wrote",
      "src/ledger/sqlite/batch.ts": "a batch that the keeper wrote",
      "src/ledger/intents.ts": "notes that we wrote; one that was cut off is left out",
      "src/gateway/admin/tasks.ts": "columns that we wrote",
      "src/gateway/admin/thread/messages.ts": "rows that our own thread wrote",
      "src/ledger/usage/": "columns that we wrote",
      "src/tasks/stored-task.ts": "columns that we wrote",
      "src/tasks/run/claimed-task.ts": "what a task was asked, sealed by us; its job checks it",
    },
  },
  {
    name: "as Hold",
    pattern: /\bas (unknown as )?Hold\b/g,
    allowed: { "src/ledger/": "only the ledger makes a hold" },
  },
];

const isAllowed = (path: string, allowed: Ban["allowed"]): boolean =>
  Object.keys(allowed).some((place) => (place.endsWith("/") ? path.startsWith(place) : path === place));

describe("what is banned stands only where it is allowed", () => {
  for (const { name, pattern, allowed } of BANS) {
    test(name, () => {
      const found = SOURCES.filter(({ path }) => !isAllowed(path, allowed)).flatMap((source) =>
        [...codeOf(source).matchAll(pattern)].map((match) => place(source, match.index)),
      );
      expect(found).toEqual([]);
    });

    test(`${name}: no exception outlives its use`, () => {
      const unused = Object.keys(allowed).filter(
        (place) =>
          !SOURCES.some((source) => isAllowed(source.path, { [place]: "" }) && codeOf(source).match(pattern)),
      );
      expect(unused).toEqual([]);
    });
  }
});

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionDeclaration(node) ||
  ts.isFunctionExpression(node) ||
  ts.isArrowFunction(node) ||
  ts.isMethodDeclaration(node);

const isClass = (node: ts.Node): node is ts.ClassLikeDeclaration =>
  ts.isClassDeclaration(node) || ts.isClassExpression(node);

const isError = (node: ts.ClassLikeDeclaration): boolean =>
  /^extends (Gateway)?Error$/.test(node.heritageClauses?.[0]?.getText() ?? "");

/** It stands where a closure would be too long: nobody else makes one, and nothing is inherited. */
const isOwnState = (node: ts.ClassLikeDeclaration): boolean =>
  node.modifiers === undefined &&
  !(node.heritageClauses ?? []).some(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);

function linesOf({ tree }: Source, node: ts.Node): number {
  const line = (at: number): number => tree.getLineAndCharacterOfPosition(at).line;
  return line(node.end) - line(node.getStart(tree));
}

describe("the form of the source", () => {
  const rules: readonly { readonly name: string; readonly find: (source: Source) => readonly string[] }[] = [
    {
      name: "nothing is any",
      find: (source) => nodes(source, (node) => node.kind === ts.SyntaxKind.AnyKeyword),
    },
    {
      name: "a class is an error, or the state behind a function of its own file",
      find: (source) => nodes(source, (node) => isClass(node) && !isOwnState(node) && !isError(node)),
    },
    {
      name: "nothing is exported by default",
      find: (source) =>
        nodes(
          source,
          (node) =>
            (ts.isExportAssignment(node) && node.isExportEquals !== true) ||
            (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent)),
        ),
    },
    {
      name: "no file is longer than 400 lines",
      find: ({ path, text }) => (text.trimEnd().split("\n").length > 400 ? [`${path}:400`] : []),
    },
    {
      name: "no function is longer than 90 lines",
      find: (source) => nodes(source, (node) => isFunction(node) && linesOf(source, node) >= 90),
    },
    {
      name: "every exported function says what it promises, in a line above it",
      find: (source) =>
        nodes(source, (node) => {
          const isExport =
            ts.canHaveModifiers(node) &&
            ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
          const wantsWords = isFunction(node) || isClass(node);
          return isExport && wantsWords && ts.getJSDocCommentsAndTags(node).length === 0;
        }),
    },
  ];

  for (const { name, find } of rules) test(name, () => expect(SOURCES.flatMap(find)).toEqual([]));
});

describe("folders", () => {
  const layers = readFileSync(join(ROOT, ".dependency-cruiser.cjs"), "utf8").match(
    /const LAYERS = \[([^\]]*)\]/,
  )?.[1];
  const LAYERS = new Set([...(layers ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name));

  test("of src are the layers that the dependency rules know", () => {
    expect(LAYERS.size).toBeGreaterThan(5);
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.map(({ name }) => name).filter((name) => !LAYERS.has(name))).toEqual([]);
  });

  test("of a client end write no sentence, and neither they nor changes know a name of chat completions", () => {
    const end = /^src\/protocols\/[a-z-]+\/client\/(encode-.*|.*-ids|index)\.ts$/;
    const change = /^src\/protocols\/(messages|generate-content)\/(upstream-body|thinking)\.ts$/;
    const ends = SOURCES.filter(({ path }) => end.test(path));
    expect(ends.length).toBeGreaterThan(12);
    const changes = SOURCES.filter(({ path }) => change.test(path));
    expect(changes).toHaveLength(3);
    const names = Object.values(PLACE_NAMES).flatMap((name) => name.match(/\w*_\w*/g) ?? []);
    // Words of the internal form, and members that these formats have too.
    const known = new Set(
      "json_schema json_object tool_choice top_p top_k cache_control max_tokens".split(" "),
    );
    const foreign = new RegExp(`\\b(${[...new Set(names)].filter((name) => !known.has(name)).join("|")})\\b`);
    const told = /\binvalid\(|\bGatewayError\b|\bcreateWarnings\b/;
    // Responses has most names of chat completions itself.
    const isOf = ({ path }: { readonly path: string }) => /\/(chat-completions|responses)\//.test(path);
    const found = [
      ...ends.filter((source) => told.test(codeOf(source))),
      ...[...ends.filter((source) => !isOf(source)), ...changes].filter((source) =>
        foreign.test(codeOf(source)),
      ),
    ];
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  for (const [folder, files] of [
    ["protocols", ["schema.ts", "index.ts"]],
    ["providers", ["index.ts"]],
  ] as const) {
    test(`of src/${folder} each have ${files.join(" and ")}`, () => {
      const parts = readdirSync(join(ROOT, "src", folder), { withFileTypes: true }).filter((entry) =>
        entry.isDirectory(),
      );
      expect(parts.length).toBeGreaterThan(0);
      const missing = parts.flatMap(({ name }) => files.map((file) => `src/${folder}/${name}/${file}`));
      expect(missing.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    });
  }

  test("files are named in kebab-case, and by none of the words that say nothing", () => {
    const odd = SOURCES.filter(
      ({ path }) =>
        !/^src\/([a-z0-9-]+\/)*[a-z0-9-]+\.ts$/.test(path) ||
        /\b(utils?|helpers?|common|managers?|base|impl|misc)\b/.test(path),
    );
    expect(odd.map(({ path }) => path)).toEqual([]);
  });
});

function trackedFiles(): readonly string[] | undefined {
  const git = Bun.spawnSync(["git", "ls-files", "-z"], { cwd: ROOT, stderr: "ignore" });
  if (!git.success) return undefined;
  return git.stdout
    .toString()
    .split("\0")
    .filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

const tracked = trackedFiles();
if (tracked === undefined) console.log("tracked files are not looked at: this is no git checkout");

describe.if(tracked !== undefined)("tracked files", () => {
  const found = (pattern: RegExp, skip: RegExp): string[] =>
    (tracked ?? [])
      .filter((path) => !skip.test(path))
      .flatMap((path) =>
        readFileSync(join(ROOT, path), "utf8")
          .split("\n")
          .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}`] : [])),
      );

  test("name no registry", () => {
    const registry = new RegExp(
      ["registry", "npmjs", "org"]
        .join("\\.")
        .replace("npmjs\\.org", "(npmjs|npmmirror|yarnpkg)\\.(org|com)"),
    );
    expect(found(registry, /^$/)).toEqual([]);
    expect(found(/"resolved":\s*"http/, /^$/)).toEqual([]);
  });

  test("name no folder of a developer's machine", () => {
    const machine = new RegExp(
      `(^|["'\`\\s(=:])/(${["work", "tmp", "root", "home/[a-z]"].join("|")})(/|["'\`\\s)]|$)`,
    );
    expect(found(machine, /^(docs\/.*|.*\.test\.ts|README\.md|package-lock\.json)$/)).toEqual([]);
  });
});

test("the tests of the suite's own engine stand in files that both suites run, and no others do", () => {
  const wrong = ["src", "test"]
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((path) => path.endsWith(".test.ts") && path !== "test/tidy.test.ts")
    .filter(
      (path) =>
        path.endsWith(".engines.test.ts") !==
        /describe(OnEngineOfSuite|AtStations)\(/.test(readFileSync(join(ROOT, path), "utf8")),
    );
  expect(wrong).toEqual([]);
});
