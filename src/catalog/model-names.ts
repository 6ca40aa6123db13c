import type { Model } from "../core/model.ts";
import { upstreamIds } from "../core/media/upstream-id.ts";
import { NO_NAME_RULES, type NameRules } from "./name-rules.ts";

/** What a name that a client sent stands for. */
export interface NamedModels {
  /** The id that is meant; several where the name could be any of them. */
  readonly ids: readonly [string, ...string[]];
  /** Whether it was chosen to stand in; else the name is its id, or another spelling of the same model. */
  readonly isAlias: boolean;
}

/** The names that models can be asked for by. */
export interface ModelNames {
  /** What `name` stands for; `undefined` where it is nobody's. An id costs one look-up. */
  find(name: string): NamedModels | undefined;
}

/** What names are made of. */
export interface NameParts {
  /** The models that are served now. */
  readonly enabled: readonly Model[];
  /** All models that there are, those among them. */
  readonly known: readonly Model[];
  /** The operator's: a name, or the beginning of names with `*` behind it, and the id that it leads to. */
  readonly aliases?: ReadonlyMap<string, string>;
  readonly rules?: NameRules;
}

/** What is longer is not looked at for endings: ids of the catalogue have 30 letters. */
const LONGEST_NAME = 200;

/** How Google's clients write a model. */
const GOOGLE_FOLDER = "models/";

/**
 * The names of all models. A name is, in this order:
 * - an id;
 * - an alias of the operator (exact, then the longest pattern);
 * - a vendor's own id, with or without its date;
 * - the part of an id behind its vendor;
 * - an alias of the rules.
 *
 * Models that are served come before those that are known alone, so that a name that both have leads to one that
 * answers. Throws a sentence for an alias that would hide an id, or that leads to none.
 */
export function createModelNames(parts: NameParts): ModelNames {
  const { enabled, known, aliases = new Map<string, string>(), rules = NO_NAME_RULES } = parts;
  const names = new Map<string, Name>();
  for (const { id } of known) names.set(id, { ids: [id], isAlias: false, datable: true });
  const ids = new Set(names.keys());
  checkAliases(aliases, ids);
  checkAliases(new Map([...rules.aliases].filter(([name]) => !ids.has(name))), ids);

  const byPattern = patternsOf(aliases);
  for (const [name, id] of aliases) names.set(name, { ids: [id], isAlias: true, datable: false });
  const add = (name: string, meant: Name): void => {
    if (!names.has(name)) names.set(name, byPattern(name) ?? meant);
  };
  for (const models of [enabled, known]) {
    for (const namesOf of [vendorIds, undatedIds(rules), nameAlone]) {
      for (const [name, found] of idsByName(models, namesOf))
        add(name, { ids: found, isAlias: false, datable: true });
    }
  }
  for (const [name, id] of rules.aliases) add(name, { ids: [id], isAlias: true, datable: true });

  const withoutEndings = (name: string): Name | undefined => {
    for (let left = rules.withoutEnding(name); left !== undefined; left = rules.withoutEnding(left)) {
      const found = names.get(left);
      if (found?.datable === true) return found;
    }
    return undefined;
  };
  const find = (name: string): NamedModels | undefined => {
    const exact = names.get(name);
    if (exact !== undefined || name.length > LONGEST_NAME) return exact ?? byPattern(name);
    const inFolder = inGoogleFolder(name);
    // No pattern of the operator's hides an id, or a name of his own, that a client writes with the folder.
    const own = inFolder !== undefined && (ids.has(inFolder) || aliases.has(inFolder));
    const found = own ? names.get(inFolder) : byPattern(name);
    if (found !== undefined) return found;
    return inFolder === undefined ? withoutEndings(name) : find(inFolder);
  };
  return { find };
}

/** The name behind `models/`; `undefined` where that does not stand before it. */
function inGoogleFolder(name: string): string | undefined {
  return name.startsWith(GOOGLE_FOLDER) ? name.slice(GOOGLE_FOLDER.length) : undefined;
}

interface Name extends NamedModels {
  /** Whether the same name with a date behind it means the same. What an operator writes is meant to the letter. */
  readonly datable: boolean;
}

function checkAliases(aliases: ReadonlyMap<string, string>, ids: ReadonlySet<string>): void {
  for (const [name, id] of aliases) {
    const alias = `The alias ${JSON.stringify(name)}`;
    if (ids.has(inGoogleFolder(name) ?? name) || ids.has(name))
      throw new Error(`${alias} is the id of a model, which an alias may not hide.`);
    if (!ids.has(id))
      throw new Error(`${alias} leads to ${JSON.stringify(id)}, which is the id of no model.`);
  }
}

/** What the longest of the patterns that a name begins like leads to. */
function patternsOf(aliases: ReadonlyMap<string, string>): (name: string) => Name | undefined {
  const patterns = [...aliases]
    .filter(([name]) => name.endsWith("*"))
    .map(([name, id]) => ({
      beginning: name.slice(0, -1),
      meant: { ids: [id], isAlias: true, datable: false } satisfies Name,
    }))
    .sort((a, b) => b.beginning.length - a.beginning.length);
  return (name) => patterns.find(({ beginning }) => name.startsWith(beginning))?.meant;
}

/** The ids that each name could mean; of several those that are called so themselves (GPT Image 2, not its edit). */
function idsByName(
  models: readonly Model[],
  namesOf: (model: Model) => readonly string[],
): Map<string, NamedModels["ids"]> {
  const found = new Map<string, Set<string>>();
  for (const model of models) {
    for (const name of namesOf(model)) {
      const ids = found.get(name) ?? new Set();
      found.set(name, ids.add(model.id));
    }
  }
  return new Map(
    [...found].map(([name, ids]) => {
      const all = [...ids];
      const own = all.filter((id) => id.slice(id.indexOf("/") + 1) === name);
      return [name, (own.length > 0 ? own : all) as [string, ...string[]]];
    }),
  );
}

/** What its providers call it, and the same behind its vendor's name, as `anthropic/claude-haiku-4-5`. */
function vendorIds({ vendor, routes }: Model): string[] {
  return routes
    .flatMap(({ upstreamId }) => upstreamIds(upstreamId))
    .flatMap((id) => (id.includes("/") ? [id] : [id, `${vendor}/${id}`]));
}

/** The same without a date, of those that have one. */
function undatedIds(rules: NameRules): (model: Model) => string[] {
  return (model) => vendorIds(model).flatMap((id) => rules.withoutEnding(id) ?? []);
}

function nameAlone({ id, vendor }: Model): string[] {
  return [id.slice(vendor.length + 1)];
}
