/** What jobs of a model cost, as the model's page says it; credits. */
export interface Costs {
  /** Of each image, or of a whole request. */
  readonly flat: { readonly credits: number; readonly isWhole: boolean } | undefined;
  /** By parameters of the job. */
  readonly table:
    | {
        /** The parameter whose values the rows are. */
        readonly by: string;
        readonly columns: readonly string[];
        readonly rows: Readonly<Record<string, readonly number[]>>;
      }
    | undefined;
  /** The gateway computes these figures from an assumed number of tokens. */
  readonly isAbout: boolean;
  /** What is charged beside them; absent: nothing. */
  readonly onTop: string | undefined;
  /** What a second costs with a video among the references, to what it costs without, by `resolution` or ``. */
  readonly withVideo: Readonly<Record<string, number>>;
}

/** What a job is going to cost; credits. */
export interface Estimate {
  readonly least: number;
  readonly most: number;
  readonly isAbout: boolean;
  /** Why it is no exact figure; absent where it is one. */
  readonly why: string | undefined;
}

/** The parameters of a job by their names. */
export type Priced = Readonly<Record<string, unknown>>;

const PRICE_ROW = /^\| ([^|]+) \| ([^|]+) \| ([\d.,]+) \| [\d.,]+ \| [^|]+ \|$/;
const FLAT = /^So an image costs ([\d.,]+) credits\.$/;
const WHOLE = /^So a request, whose images are \d+, costs ([\d.,]+) credits\.$/;
const TABLE_HEAD = /^\| `(size|image_size|resolution)` \|/;

/** Reads the costs in a model's `llms.txt`; `undefined` where it says none. */
export function costsOf(page: string): Costs | undefined {
  const lines = (page.split("\n## Prices\n")[1] ?? "").split("\n## ")[0]?.split("\n") ?? [];
  const flat = amountIn(lines, FLAT);
  const whole = amountIn(lines, WHOLE);
  const says = lines.find((line) => line.startsWith("So ")) ?? "";
  const credits = flat ?? whole;
  const table = tableIn(lines);
  if (credits === undefined && table === undefined) return undefined;
  return {
    flat: credits === undefined ? undefined : { credits, isWhole: flat === undefined },
    table,
    isAbout: says.includes(" about "),
    onTop: /; (.+) comes on top:/.exec(says)?.[1],
    withVideo: videoFactors(lines),
  };
}

function amountIn(lines: readonly string[], pattern: RegExp): number | undefined {
  const amount = lines.map((line) => pattern.exec(line)?.[1]).find((found) => found !== undefined);
  return amount === undefined ? undefined : numberIn(amount);
}

function tableIn(lines: readonly string[]): Costs["table"] {
  const start = lines.findIndex((line) => TABLE_HEAD.test(line));
  if (start === -1) return undefined;
  const [by = "", ...columns] = cellsOf(lines[start] ?? "");
  const end = lines.findIndex((line, i) => i > start && !line.startsWith("|"));
  const rows = lines.slice(start + 2, end === -1 ? undefined : end).map(cellsOf);
  return {
    by: by.replaceAll("`", ""),
    columns: columns.map((column) => column.replace(/ seconds$|, at most$/, "")),
    rows: Object.fromEntries(rows.map(([value = "", ...amounts]) => [value, amounts.map(numberIn)])),
  };
}

function cellsOf(line: string): readonly string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The table is for jobs without a video among the references; the prices that hold with one are rows of their own. */
function videoFactors(lines: readonly string[]): Readonly<Record<string, number>> {
  const prices = lines.flatMap((line) => {
    const [, , when = "", usd = ""] = PRICE_ROW.exec(line) ?? [];
    return when === "" ? [] : [{ when, usd: numberIn(usd) }];
  });
  const factors = prices.flatMap(({ when, usd }) => {
    if (!when.endsWith("with a video in the input")) return [];
    const condition = when.replace(/,? ?with a video in the input$/, "");
    const without = prices.find((other) => other.when === (condition === "" ? "otherwise" : condition));
    return without === undefined ? [] : [[condition.replace(/^resolution /, ""), usd / without.usd] as const];
  });
  return Object.fromEntries(factors);
}

function numberIn(text: string): number {
  return Number(text.replaceAll(",", ""));
}

/** What a job costs. `defaults` holds what counts where the job leaves a parameter out. */
export function estimate(costs: Costs, job: Priced, defaults: Priced): Estimate | undefined {
  const value = (name: string): string => {
    const said = job[name] ?? defaults[name] ?? "";
    return typeof said === "string" ? said : JSON.stringify(said);
  };
  const images = Number(value("n")) || 1;
  if (costs.flat !== undefined) {
    const credits = costs.flat.isWhole ? costs.flat.credits : costs.flat.credits * images;
    return { least: credits, most: credits, isAbout: false, why: undefined };
  }
  const { table } = costs;
  if (table === undefined) return undefined;
  const row = table.rows[value(table.by).replace("x", "*")];
  if (row === undefined) return undefined;
  if (table.by === "resolution") return videoEstimate(costs, row, value, job);
  const column = table.columns.indexOf(table.by === "size" ? value("quality") : "Credits");
  const most = row[column];
  if (most === undefined) return undefined;
  const isOpen = table.by === "size" && value("quality") === "auto";
  return {
    least: (isOpen ? Math.min(...row) : most) * images,
    most: most * images,
    isAbout: costs.isAbout,
    why: sentences(
      isOpen && "The model chooses the quality.",
      costs.isAbout && "The number of tokens of an image is known once it is made.",
      costs.onTop !== undefined && `${capital(costs.onTop)} comes on top.`,
    ),
  };
}

function videoEstimate(
  { table, isAbout, withVideo }: Costs,
  row: readonly number[],
  value: (name: string) => string,
  job: Priced,
): Estimate | undefined {
  const credits = row[table?.columns.indexOf(value("duration")) ?? -1];
  if (credits === undefined) return undefined;
  const hasVideo = Array.isArray(job.reference_videos) && job.reference_videos.length > 0;
  const factor = hasVideo ? (withVideo[value("resolution")] ?? withVideo[""] ?? 1) : 1;
  return {
    least: credits * factor,
    most: credits * factor,
    isAbout,
    why: sentences(
      isAbout && "The number of tokens of a video is known once it is made.",
      factor !== 1 && "A video among the references lowers the price of a token.",
    ),
  };
}

function sentences(...all: readonly (string | false)[]): string | undefined {
  const said = all.filter((each) => each !== false);
  return said.length === 0 ? undefined : said.join(" ");
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
