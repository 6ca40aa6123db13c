import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";

const COMPRESSED = /\.(br|gz)$/;
/** A smaller file fits in a packet as it is. */
const LEAST_BYTES = 512;

/**
 * The files of a folder, by their paths in it.
 * @param {string} folder
 * @returns {Map<string, Buffer>}
 */
export function filesOf(folder) {
  /** @type {Map<string, Buffer>} */
  const files = new Map();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(folder, name);
    if (statSync(path).isFile()) files.set(relative(folder, path).replaceAll("\\", "/"), readFileSync(path));
  }
  return files;
}

/**
 * Writes each file of a folder once more for each encoding that browsers ask for.
 * @param {string} folder
 */
export function compressAll(folder) {
  for (const [name, bytes] of filesOf(folder)) {
    if (bytes.length < LEAST_BYTES) continue;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
}

/**
 * What differs between a folder of built files and one that was built anew, a sentence each. Compressed files are
 * compared by what they hold: their own bytes depend on the version of Node.
 * @param {string} built
 * @param {string} anew
 * @returns {string[]}
 */
export function differences(built, anew) {
  const [old, now] = [filesOf(built), filesOf(anew)];
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  return names.flatMap((name) => {
    const [before, after] = [old.get(name), now.get(name)];
    if (before === undefined) return [`${name} is missing`];
    if (after === undefined) return [`${name} is not built any more`];
    return plain(name, before).equals(plain(name, after)) ? [] : [`${name} differs`];
  });
}

/**
 * @param {string} name
 * @param {Buffer} bytes
 */
function plain(name, bytes) {
  const encoding = COMPRESSED.exec(name)?.[1];
  if (encoding === "br") return brotliDecompressSync(bytes);
  return encoding === "gz" ? gunzipSync(bytes) : bytes;
}
