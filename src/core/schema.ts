import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";

/** Where a value breaks its schema, as a path (`messages[0].role`; empty for the whole), and how, as a predicate. */
export interface SchemaFault {
  readonly path: string;
  readonly problem: string;
}

/** The problem of a field that is missing. */
export const IS_REQUIRED = "is required";

/** A compiled schema. */
export interface Checker<T> {
  /** Whether `value` matches the schema. `known`: so many first items of a member that is a list matched before. */
  accepts(value: unknown, known?: Readonly<Record<string, number>>): value is T;
  /** The first fault of a value that does not match. */
  faultOf(value: unknown): SchemaFault;
}

interface SchemaError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/**
 * Compiles `schema` once. Lists are checked for too many items before any item is. A fault is searched for in the one
 * item that has it, since reporting faults is slow.
 */
export function compileSchema<S extends TSchema>(schema: S): Checker<Static<S>> {
  const compiled = Compile(schema);
  const bounds = listBounds(schema);
  return {
    accepts: (value, known): value is Static<S> =>
      !hasTooMany(bounds, value) && compiled.Check(withoutKnown(value, known)),
    faultOf: (value) => faultIn({ schema, value, pointer: "" }),
  };
}

/** The parts of a schema in which faults are searched for. */
interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly maxItems?: number;
  readonly anyOf?: readonly Node[];
}

/** A part of a value with its schema and its path. */
interface Place {
  readonly schema: Node;
  readonly value: unknown;
  readonly pointer: string;
}

/** Members that are lists, and how many items each may have at most. */
type ListBounds = readonly (readonly [name: string, most: number])[];

function listBounds({ properties = {} }: Node): ListBounds {
  return Object.entries(properties).flatMap(([name, member]) => {
    const most = mostItems(member);
    return most === Infinity ? [] : [[name, most] as const];
  });
}

function mostItems(schema: Node): number {
  const lists = branchesFor(schema, []);
  return lists.length === 0 ? Infinity : Math.max(...lists.map(({ maxItems = Infinity }) => maxItems));
}

function hasTooMany(bounds: ListBounds, value: unknown): boolean {
  if (!isObject(value)) return false;
  for (const [name, most] of bounds) {
    const list = value[name];
    if (Array.isArray(list) && list.length > most) return true;
  }
  return false;
}

/** The value without the first items of its lists; of each list the last item stays, as one with none may be none. */
function withoutKnown(value: unknown, known: Readonly<Record<string, number>> = {}): unknown {
  if (!isObject(value)) return value;
  let rest: Record<string, unknown> | undefined;
  for (const name in known) {
    const list = value[name];
    const count = known[name] ?? 0;
    if (count > 0 && Array.isArray(list))
      (rest ??= { ...value })[name] = list.slice(Math.min(count, list.length - 1));
  }
  return rest ?? value;
}

function faultIn(place: Place): SchemaFault {
  const { schema, value, pointer } = place;
  // A list with one item too many is as wrong as one with a million.
  const list = isTooLong(schema, value) ? value.slice(0, mostItems(schema) + 1) : value;
  const own = shellOf(schema).Errors(list);
  if (own.length > 0) return explain(own, pointer);
  const within = faultyPart(place);
  return within === undefined ? explain(checkOf(schema).Errors(value), pointer) : faultIn(within);
}

function isTooLong(schema: Node, value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > mostItems(schema);
}

/** The first part that does not match its schema; `undefined` where no single part shows the fault. */
function faultyPart({ schema, value, pointer }: Place): Place | undefined {
  const [branch, other] = branchesFor(schema, value);
  if (branch === undefined || other !== undefined) return undefined;
  const { items = {}, properties = {} } = branch;
  if (Array.isArray(value)) {
    const check = checkOf(items);
    for (const [at, item] of value.entries())
      if (!check.Check(item)) return { schema: items, value: item, pointer: `${pointer}/${at}` };
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [name, member] of Object.entries(properties)) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    if (held === undefined || (!isTooLong(member, held) && checkOf(member).Check(held))) continue;
    const key = name.replaceAll("~", "~0").replaceAll("/", "~1");
    return { schema: member, value: held, pointer: `${pointer}/${key}` };
  }
  return undefined;
}

/** The branches of a union that are for values of this kind; a schema that is no union is its own one. */
function branchesFor(schema: Node, value: unknown): readonly Node[] {
  if (schema.anyOf === undefined) return [schema];
  const kind = Array.isArray(value) ? "array" : typeof value;
  return schema.anyOf.filter(({ type }) => type === undefined || type === kind);
}

/** A schema's conditions on a value itself, without its parts. */
function withoutParts(schema: Node): Node {
  const { items: _items, properties, anyOf, ...own } = schema;
  return {
    ...own,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.keys(properties).map((name) => [name, {}])) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(withoutParts) }),
  };
}

type Compiled = ReturnType<typeof Compile>;

const checks = new WeakMap<Node, Compiled>();
const shells = new WeakMap<Node, Compiled>();

/** Compiled when a fault is first searched for: most parts never have one. */
function checkOf(schema: Node): Compiled {
  return checks.getOrInsertComputed(schema, () => Compile(schema as TSchema));
}

function shellOf(schema: Node): Compiled {
  return shells.getOrInsertComputed(schema, () => Compile(withoutParts(schema) as TSchema));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A fault as a sentence about the field. */
export function faultSentence({ path, problem }: SchemaFault): string {
  return `${path === "" ? "The body" : path} ${problem}.`;
}

/** Picks the error that helps most: inside a union, the one of the branch that came furthest. */
function explain(found: readonly SchemaError[], pointer: string): SchemaFault {
  const errors = found.map((error) => ({ ...error, instancePath: pointer + error.instancePath }));
  const first = errors[0];
  if (first === undefined) return { path: "", problem: "is not valid" };
  // The object is the field at fault, whatever names a caller has put into it.
  const name = errors.find(({ schemaPath }) => schemaPath.endsWith("/propertyNames"));
  if (name !== undefined)
    return {
      path: fieldPath(name.instancePath.slice(0, name.instancePath.lastIndexOf("/"))),
      problem: `has a name that ${describe(name).problem}`,
    };
  const union = errors.find(
    (error) => error.keyword === "anyOf" && isWithin(first.instancePath, error.instancePath),
  );
  if (union === undefined) return describe(deeperThan(first, errors));
  const within = errors.filter(
    (error) => error.keyword !== "anyOf" && isWithin(error.instancePath, union.instancePath),
  );
  const deepest = within.reduce(
    (best, error) => (error.instancePath.length > best.instancePath.length ? error : best),
    first,
  );
  if (deepest.instancePath.length > union.instancePath.length) return describe(deepest);
  // Only an object can lack a member: no other branch was meant.
  const missing = within.find((error) => error.keyword === "required");
  if (missing !== undefined) return describe(missing);
  const problems = [...new Set(within.map((error) => describe(error).problem))].map((problem, i) =>
    i === 0 ? problem : problem.replace(/^must (be )?/, ""),
  );
  return { path: fieldPath(union.instancePath), problem: problems.join(" or ") };
}

/**
 * The checker reports the first eight faults, and a union's own as its last. Where that is missing, a wrong type with
 * faults below it can only be of a branch that was not meant. Returns the first of the deepest of them, else `first`.
 */
function deeperThan(first: SchemaError, errors: readonly SchemaError[]): SchemaError {
  if (first.keyword !== "type") return first;
  return errors
    .filter((error) => isWithin(error.instancePath, first.instancePath))
    .reduce((best, error) => (depthOf(error) > depthOf(best) ? error : best), first);
}

function depthOf({ instancePath }: SchemaError): number {
  return instancePath.split("/").length;
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}/`);
}

function describe(error: SchemaError): SchemaFault {
  const path = fieldPath(error.instancePath);
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case "required": {
      const [missing] = params.requiredProperties as string[];
      return { path: path === "" ? `${missing}` : `${path}.${missing}`, problem: IS_REQUIRED };
    }
    // A member that the schema forbids is checked against the schema `false`.
    case "boolean":
      return { path, problem: "is not a known key" };
    case "type":
      return { path, problem: `must be ${named(params.type)}` };
    case "enum":
      return {
        path,
        problem: `must be one of ${(params.allowedValues as unknown[]).map(written).join(", ")}`,
      };
    case "const":
      return { path, problem: `must be ${written(params.allowedValue)}` };
    case "pattern":
      return { path, problem: `must match ${String(params.pattern)}` };
    case "minimum":
      return { path, problem: `must be at least ${String(params.limit)}` };
    case "maximum":
      return { path, problem: `must be at most ${String(params.limit)}` };
    case "minItems":
    case "minLength":
      return { path, problem: "must not be empty" };
    case "maxItems":
      return { path, problem: `must have at most ${counted(params.limit, "item")}` };
    case "maxLength":
      return { path, problem: `must have at most ${counted(params.limit, "character")}` };
    case "uniqueItems":
      return { path, problem: "must not name a value twice" };
    default:
      return { path, problem: error.message };
  }
}

function counted(limit: unknown, noun: string): string {
  return `${String(limit)} ${noun}${limit === 1 ? "" : "s"}`;
}

function named(type: unknown): string {
  const word = String(type);
  if (word === "null") return "null";
  return /^[aeio]/.test(word) ? `an ${word}` : `a ${word}`;
}

/** A word stands without quotes: the log takes quoted text for the caller's and leaves it out. */
function written(value: unknown): string {
  if (typeof value === "string" && /^[^\s",]+$/.test(value)) return value;
  return JSON.stringify(value);
}

/** `/messages/0/content` as `messages[0].content`. */
function fieldPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i === 0 ? part : `.${part}`))
    .join("");
}
