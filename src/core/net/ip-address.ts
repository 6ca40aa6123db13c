/** An address as numbers: its groups from left to right, 4 of 8 bits or 8 of 16. */
export type Groups = readonly number[];

/** A range of addresses: those that begin with the first `bits` bits of `groups`. */
export interface Range {
  readonly groups: Groups;
  readonly bits: number;
}

/** Whether `text` is an IP address in its plain form, without brackets: four decimal numbers, or groups of hex. */
export function isAddress(text: string): boolean {
  return readAddress(text) !== undefined;
}

/** The address that `text` is in its plain form. */
export function readAddress(text: string): Groups | undefined {
  return text.includes(":") ? readV6(text) : readV4(text);
}

function readV4(text: string): Groups | undefined {
  const parts = text.split(".");
  // Some readers take a number with a leading zero as octal.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const groups = parts.map(Number);
  return groups.every((group) => group <= 255) ? groups : undefined;
}

function readV6(text: string): Groups | undefined {
  const halves = text.split("::");
  if (halves.length > 2 || (halves.length === 2 && halves[0]?.includes(".") === true)) return undefined;
  const [left, right] = halves.map(readGroups);
  if (left === undefined) return undefined;
  if (halves.length === 1) return left.length === 8 ? left : undefined;
  if (right === undefined || left.length + right.length > 7) return undefined;
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

/** Groups of hex, the last two perhaps as an IPv4 address. */
function readGroups(text: string): Groups | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const tail = parts.at(-1)?.includes(".") === true ? readV4(parts.pop() ?? "") : [];
  if (tail === undefined || !parts.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return undefined;
  const [a, b, c, d] = tail as readonly [number, number, number, number];
  const groups = parts.map((part) => Number.parseInt(part, 16));
  return tail.length === 0 ? groups : [...groups, a * 256 + b, c * 256 + d];
}

/** The range that `text` is: an address, or one with the number of its bits behind a slash. */
export function readRange(text: string): Range | undefined {
  const [, address = "", bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const groups = readAddress(address);
  const width = groups?.length === 4 ? 32 : 128;
  const count = Number(bits ?? width);
  return groups === undefined || count > width ? undefined : { groups, bits: count };
}

/** Whether an address is one of a range. */
export function isIn(groups: Groups, { groups: start, bits }: Range): boolean {
  const width = groups.length === 4 ? 8 : 16;
  if (groups.length !== start.length) return false;
  return groups.every((group, i) => {
    const free = Math.min(width, Math.max(0, (i + 1) * width - bits));
    return group >> free === (start[i] as number) >> free;
  });
}
