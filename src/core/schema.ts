import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";

/** Where a value breaks its schema, as a path (`messages[0].role`; empty for the whole), and how, as a predicate. */
export interface SchemaFault {
  readonly path: string;
  readonly problem: string;
}

/** A compiled schema. */
export interface Checker<T> {
  /** Whether `value` is of the schema. */
  accepts(value: unknown): value is T;
  /** The first fault of a value that is not. */
  faultOf(value: unknown): SchemaFault;
}

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** Compiles `schema` once. */
export function compileSchema<S extends TSchema>(schema: S): Checker<Static<S>> {
  const compiled = Compile(schema);
  return {
    accepts: (value): value is Static<S> => compiled.Check(value),
    faultOf: (value) => explain(compiled.Errors(value)),
  };
}

/** A fault as a sentence about the field. */
export function faultSentence({ path, problem }: SchemaFault): string {
  return `${path === "" ? "The body" : path} ${problem}.`;
}

/** Picks the error that helps most: inside a union, the one of the branch that came furthest. */
function explain(errors: readonly SchemaError[]): SchemaFault {
  const first = errors[0];
  if (first === undefined) return { path: "", problem: "is not valid" };
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
  // Only of an object can a member be missing: no other branch was meant.
  const missing = within.find((error) => error.keyword === "required");
  if (missing !== undefined) return describe(missing);
  const problems = [...new Set(within.map((error) => describe(error).problem))].map((problem, i) =>
    i === 0 ? problem : problem.replace(/^must (be )?/, ""),
  );
  return { path: fieldPath(union.instancePath), problem: problems.join(" or ") };
}

/**
 * Of many faults only the first eight are told, and a union's own is its last: where it is missing, a wrong type with
 * faults below it can only be of a branch that was not meant. Gives the first of the deepest of them, else `first`.
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
      return { path: path === "" ? `${missing}` : `${path}.${missing}`, problem: "is required" };
    }
    // A member that the schema forbids is checked against the schema `false`.
    case "boolean":
      return { path, problem: "is not a known key" };
    case "type":
      return { path, problem: `must be ${named(params.type)}` };
    case "enum":
      return {
        path,
        problem: `must be one of ${(params.allowedValues as unknown[]).map(quoted).join(", ")}`,
      };
    case "const":
      return { path, problem: `must be ${quoted(params.allowedValue)}` };
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

function quoted(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
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
