/** Changes of a line, by its text, that change nothing anybody can see, with the reason. */
export interface Equivalent {
  readonly path: string;
  readonly before: string;
  readonly after: readonly string[];
  readonly why: string;
}

interface Place {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** A change that was made. */
export interface Outcome extends Place {
  readonly folder: string;
  readonly line: number;
  /** What failed; none where every test passed. */
  readonly end: string | undefined;
}

/** Counts what became of the changes, by folder. */
export class MutationReport {
  readonly #equivalents: readonly Equivalent[];
  readonly #outcomes: Outcome[] = [];

  constructor(equivalents: readonly Equivalent[]) {
    this.#equivalents = equivalents;
  }

  /** Why a change changes nothing, where that is known. */
  reasonOf({ path, before, after }: Place): string | undefined {
    return this.#equivalents.find(
      (known) => known.path === path && known.before === before && known.after.includes(after),
    )?.why;
  }

  /** Notes an outcome and returns its line for the reader. */
  add(outcome: Outcome): string {
    this.#outcomes.push(outcome);
    const { path, line, before, after, end } = outcome;
    const became = end ?? this.reasonOf(outcome) ?? "NO TEST FAILED";
    return `${path}:${line}: ${before}  →  ${after}\n    ${became}`;
  }

  /** Of the changes that change anything, how many percent failed a test; 100 of none. */
  score(folder?: string): number {
    const { seen, unseen } = this.#counts(folder);
    return seen + unseen === 0 ? 100 : (100 * seen) / (seen + unseen);
  }

  table(): string {
    const folders = [...new Set(this.#outcomes.map(({ folder }) => folder))];
    const row = (name: string, folder?: string): string => {
      const { seen, unseen, equivalent } = this.#counts(folder);
      const score = `${this.score(folder).toFixed(1)} %`;
      return `| ${name} | ${seen + unseen + equivalent} | ${seen} | ${unseen} | ${equivalent} | ${score} |`;
    };
    const unseen = this.#outcomes.filter((outcome) => this.#kindOf(outcome) === "unseen");
    return [
      "",
      "| folder | changes | failed a test | passed unseen | change nothing | score |",
      "|---|---|---|---|---|---|",
      ...folders.map((folder) => row(folder, folder)),
      row("all"),
      "",
      ...unseen.map(
        ({ path, line, before, after }) => `passed unseen: ${path}:${line}: ${before}  →  ${after}`,
      ),
    ].join("\n");
  }

  #counts(folder: string | undefined): { seen: number; unseen: number; equivalent: number } {
    const counts = { seen: 0, unseen: 0, equivalent: 0 };
    for (const outcome of this.#outcomes)
      if (folder === undefined || outcome.folder === folder) counts[this.#kindOf(outcome)] += 1;
    return counts;
  }

  #kindOf(outcome: Outcome): "seen" | "unseen" | "equivalent" {
    if (outcome.end !== undefined) return "seen";
    return this.reasonOf(outcome) === undefined ? "unseen" : "equivalent";
  }
}
