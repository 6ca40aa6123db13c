import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { contentHash } from "../../runtime/hash.ts";

/** Encodings that the build makes beside each file, the smaller first. */
const ENCODINGS = { br: ".br", gzip: ".gz" } as const;
type Encoding = keyof typeof ENCODINGS;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

/** A file of the console as it is sent in one encoding. */
export interface ConsoleFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
  readonly encoding: Encoding | undefined;
  readonly etag: string;
}

/** Files of the console by their path below its folder. */
export interface ConsoleFiles {
  /** The file in the smallest encoding that an `Accept-Encoding` allows; only what was there at the start is found. */
  find(path: string, accepted: string | null): ConsoleFile | undefined;
}

/**
 * Reads the built files, all at once. No path of a request reaches the disk, and a build that replaces them changes
 * nothing of what a process serves. Symbolic links are left out. Empty where there is no such folder.
 */
export function readConsoleFiles(folder: string): ConsoleFiles {
  const names = namesIn(folder);
  const all = new Set(names);
  const files = new Map<string, readonly ConsoleFile[]>();
  for (const name of names) {
    if (Object.values(ENCODINGS).some((suffix) => name.endsWith(suffix))) continue;
    files.set(name, formsOf(folder, name, all));
  }
  return {
    find: (path, accepted) => files.get(path)?.find(({ encoding }) => isAccepted(encoding, accepted ?? "")),
  };
}

function namesIn(folder: string, below = ""): readonly string[] {
  try {
    return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
      const name = `${below}${entry.name}`;
      if (entry.isDirectory()) return namesIn(folder, `${name}/`);
      return entry.isFile() ? [name] : [];
    });
  } catch (error) {
    if (below === "" && (error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** The forms of a file, the smallest first. */
function formsOf(folder: string, name: string, all: ReadonlySet<string>): readonly ConsoleFile[] {
  const plain = new Uint8Array(readFileSync(join(folder, name)));
  const mediaType = TYPES[extname(name)] ?? "application/octet-stream";
  const hash = contentHash(plain).slice(0, 32);
  const encoded = Object.entries(ENCODINGS).flatMap(([encoding, suffix]) =>
    all.has(name + suffix)
      ? [
          {
            bytes: new Uint8Array(readFileSync(join(folder, name + suffix))),
            mediaType,
            encoding: encoding as Encoding,
            etag: `"${hash}-${encoding}"`,
          },
        ]
      : [],
  );
  return [...encoded, { bytes: plain, mediaType, encoding: undefined, etag: `"${hash}"` }];
}

/** Every client is taken to read a plain file. */
function isAccepted(encoding: Encoding | undefined, accepted: string): boolean {
  if (encoding === undefined) return true;
  return accepted
    .toLowerCase()
    .split(",")
    .some((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
      return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    });
}
